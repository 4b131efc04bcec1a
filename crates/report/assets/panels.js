'use strict';
// The parts of the page that choose what is drawn: one cell in time, cells against each other.

// A row of choices: buttons while they are few, a list otherwise.
S.choice = (title, items, chosen, onchange) => {
  if (items.length > 8 || items.some(([, text]) => text.length > 48)) {
    const select = S.el(
      'select',
      { onchange: () => onchange(select.value) },
      items.map(([value, text]) => S.option(value, text, value === chosen)),
    );
    const step = (by) => {
      select.selectedIndex = (select.selectedIndex + by + items.length) % items.length;
      onchange(select.value);
    };
    return S.el(
      'div',
      { class: 'choice' },
      S.el('label', {}, title, select),
      S.el(
        'button',
        { type: 'button', 'aria-label': `${title}: previous`, onclick: () => step(-1) },
        '‹',
      ),
      S.el(
        'button',
        { type: 'button', 'aria-label': `${title}: next`, onclick: () => step(1) },
        '›',
      ),
    );
  }
  const group = S.el(
    'div',
    { class: 'choice', role: 'group', 'aria-label': title },
    S.el('span', {}, title),
  );
  const buttons = items.map(([value, text]) =>
    S.el(
      'button',
      {
        type: 'button',
        'aria-pressed': value === chosen,
        onclick: () => {
          buttons.forEach((b, i) => b.setAttribute('aria-pressed', items[i][0] === value));
          onchange(value);
        },
      },
      text,
    ),
  );
  group.append(S.el('div', { class: 'segments' }, buttons));
  return group;
};

S.cellColour = (cell) => S.data.colours[cell];

// That of the first cell with the same choice, for pictures whose points bear their names.
S.choiceColour = (cell) =>
  S.cellColour(S.data.cells.findIndex((_, other) => S.choiceOf(other) === S.choiceOf(cell)));

S.cellItems = () => S.data.cells.map((label, i) => [`${i}`, label]);

// [end of first interval, interval, values] as a series of a chart; times at interval ends.
S.timed = (name, index, dash, [first, every, values]) => ({
  name,
  index,
  dash,
  x: (i) => first + i * every,
  y: values,
});

// Mean of the last second: what a receiver gets at once after a repaired loss would otherwise
// stand as a spike far above the link's rate.
S.smoothed = (series, every) => {
  const window = Math.round(1 / every);
  if (window < 2) return series;
  const y = series.y
    .map((_, i) => S.mean(series.y.slice(Math.max(0, i - window + 1), i + 1)))
    .map((v) => (S.finite(v) ? v : null));
  return { ...series, y };
};

// A series as its figure is best drawn.
S.drawn = (metric, series, every) => {
  return metric === 'goodput' ? S.smoothed(series, every) : series;
};

S.Time = class {
  constructor() {
    this.cell = 0;
    this.flow = null;
    this.mode = S.stackable() ? 'stack' : 'cell';
    this.seed = S.seeds[0];
    [this.facet] = S.facets;
    this.charts = S.by('time-charts');
    this.bar = S.by('time-bar');
    this.draw();
  }

  drawBar() {
    const set =
      (key, convert = (v) => v) =>
      (value) => {
        this[key] = convert(value);
        this.draw();
      };
    const parts = [];
    if (S.data.cells.length > 1 || S.stackable()) {
      parts.push(
        S.choice(
          'Show',
          [
            ...(S.stackable() ? [['stack', 'uploads, downloads, pings']] : []),
            ['cell', 'one cell, all flows'],
            ...(S.data.cells.length > 1 ? [['flow', 'one flow or link, all cells']] : []),
          ],
          this.mode,
          set('mode'),
        ),
      );
    }
    if (this.mode !== 'flow' && S.data.cells.length > 1) {
      parts.push(S.choice('Cell', S.cellItems(), `${this.cell}`, set('cell', Number)));
    }
    if (this.mode === 'flow') {
      parts.push(S.choice('Of', this.things(), this.flow, set('flow')));
      if (S.faceted) {
        const facets = S.facets.map((facet) => [facet, facet]);
        parts.push(S.choice('Where', facets, this.facet, set('facet')));
      }
    }
    const seeds = S.data.seriesOfFirstSeedOnly ? [] : S.seeds;
    if (seeds.length > 1)
      parts.push(
        S.choice(
          'Seed',
          seeds.map((s) => [s, s]),
          this.seed,
          set('seed'),
        ),
      );
    this.bar.replaceChildren(...parts);
  }

  things() {
    return [
      ...S.names('flows').map((n) => [`flows/${n}`, `flow ${n}`]),
      ...S.names('links').map((n) => [`links/${n}`, `link ${n}`]),
    ];
  }

  draw() {
    this.flow = this.flow || (this.things()[0] || [null])[0];
    const focus =
      document.activeElement && this.bar.contains(document.activeElement)
        ? document.activeElement.textContent
        : null;
    this.drawBar();
    if (focus)
      [...this.bar.querySelectorAll('button, select')]
        .find((b) => b.textContent === focus)
        ?.focus();
    this.charts.replaceChildren();
    this.link = [];
    this.charts.classList.toggle('stacked', this.mode === 'stack');
    if (this.mode === 'stack') S.stack(this);
    else if (this.mode === 'cell') this.oneCell();
    else this.oneThing();
    S.statistics(this.cell, this.seed);
  }

  run(cell, world) {
    const runs = S.runsOf(cell, world);
    return (
      runs.find(
        (run) => run.seed === this.seed && run.flows.some((f) => Object.keys(f.s).length),
      ) || runs[0]
    );
  }

  // `more` goes before what is made of the figure.
  add(kind, metric, series, title, more) {
    const present = series.filter((s) => s.y.some((v) => v !== null));
    if (!present.length) return;
    const figure = S.figure(kind, metric, 'series');
    const values = present.flatMap((s) => s.y.filter((v) => v > 0)).sort((a, b) => a - b);
    const wide =
      values.length > 0 &&
      values[Math.floor(values.length * 0.99)] > 40 * values[Math.floor(values.length * 0.05)];
    let notes = metric === 'drops' && values.length === 0 ? 'No drops.' : figure.meaning;
    if (metric === 'goodput') {
      notes +=
        ' Drawn as the mean of the last second. After a repaired loss all that had waited for it ' +
        'counts at once, so that it may exceed the link’s rate; what crossed the link is its ' +
        'throughput.';
    }
    new S.Chart(this.charts, {
      title: title || figure.title.replace(' over time', ''),
      note: notes,
      unit: figure.unit,
      xTitle: 'seconds since the start of the run',
      xUnit: 's',
      series: present,
      yLog: wide && figure.unit === 'ms' && this.mode === 'flow',
      zoomed: metric === 'rtt',
      link: this.link,
      ...more,
    });
  }

  collect(part, metric) {
    const names = S.names(part);
    const list = [];
    names.forEach((name, index) => {
      for (const world of S.worlds) {
        const run = this.run(this.cell, world);
        const item = run && S.part(run, part, name);
        if (!item || !item.s[metric]) continue;
        const text = S.worlds.length > 1 ? `${name} ${world}` : name;
        const series = S.drawn(
          metric,
          S.timed(text, index, S.dash(world), item.s[metric]),
          item.s[metric][1],
        );
        list.push({ ...series, hidden: !S.shownFirst(index, names.length) });
      }
    });
    return list;
  }

  oneCell() {
    // Older results have no throughput of flows.
    const arrived = this.collect('flows', 'throughput');
    const metric = arrived.length ? 'throughput' : 'goodput';
    this.add('flow', metric, arrived.length ? arrived : this.collect('flows', 'goodput'));
    this.add('flow', 'rtt', this.collect('flows', 'rtt'));
    this.add('link', 'sojourn', this.collect('links', 'sojourn'), 'Sojourn time');
    this.add('link', 'backlog', this.collect('links', 'backlog'));
    this.add('link', 'drops', this.collect('links', 'drops'));
    this.add('link', 'throughput', this.collect('links', 'throughput'));
    this.add('link', 'utilisation', this.collect('links', 'utilisation'));
    this.add('flow', 'cwnd', this.collect('flows', 'cwnd'));
    this.add('flow', 'ssthresh', this.collect('flows', 'ssthresh'));
    this.add('flow', 'pacing_rate', this.collect('flows', 'pacing_rate'));
  }

  oneThing() {
    const [part, ...rest] = this.flow.split('/');
    const name = rest.join('/');
    const kind = part.slice(0, -1);
    for (const metric of S.data.figures
      .filter((f) => f.shape === 'series' && f.kind === kind)
      .map((f) => f.key)) {
      const list = [];
      S.data.cells.forEach((whole, cell) => {
        if (S.faceted && S.facetOf(cell) !== this.facet) return;
        const label = S.faceted ? S.choiceOf(cell) : whole;
        for (const world of S.worlds) {
          const run = this.run(cell, world);
          const item = run && S.part(run, part, name);
          if (!item || !item.s[metric]) continue;
          const text = S.worlds.length > 1 ? `${label} ${world}` : label;
          const timed = S.timed(text, S.cellColour(cell), S.dash(world), item.s[metric]);
          const series = S.drawn(metric, timed, item.s[metric][1]);
          const hidden = !S.faceted && !S.shownFirst(cell, S.data.cells.length);
          list.push({ ...series, hidden });
        }
      });
      this.add(kind, metric, list);
    }
  }
};

// What tc -s -j says of each link's queue, the worlds side by side.
S.statistics = (cell, seed) => {
  const columns = [];
  for (const world of S.worlds) {
    const runs = S.runsOf(cell, world);
    const run = runs.find((r) => r.seed === seed) || runs[0];
    for (const link of run ? run.links : []) columns.push([`${link.name}, ${world}`, link.qdisc]);
  }
  const names = (pick) => [...new Set(columns.flatMap(([, q]) => Object.keys(pick(q))))];
  // A shaper has the queue in it as a part of its own.
  const spread = (part, above = '') =>
    Object.entries(part).flatMap(([key, value]) =>
      value && typeof value === 'object' && !Array.isArray(value)
        ? spread(value, `${above}${key} `)
        : [[`${above}${key}`, value]],
    );
  const isOption = ([key]) => /(^| )options /.test(key);
  const options = (q) =>
    Object.fromEntries(
      spread(q)
        .filter(isOption)
        .map(([key, value]) => [key.replace('options ', ''), value]),
    );
  const counts = (q) => Object.fromEntries(spread(q).filter((entry) => !isOption(entry)));
  const text = (value) => {
    if (value === undefined) return '';
    if (Array.isArray(value)) return value.map((g) => JSON.stringify(g)).join('\n');
    return typeof value === 'number' ? S.tickText(Number(value.toPrecision(6))) : `${value}`;
  };
  const rows = (list, pick) =>
    list.map((name) =>
      S.el(
        'tr',
        {},
        S.el('th', { scope: 'row' }, name),
        columns.map(([, q]) => S.el('td', { class: 'num' }, text(pick(q)[name]))),
      ),
    );
  const group = (title) =>
    S.el(
      'tr',
      { class: 'group' },
      S.el('th', { colspan: columns.length + 1, scope: 'colgroup' }, title),
    );
  S.by('tc-cell').textContent = S.data.cells.length > 1 ? `Cell: ${S.data.cells[cell]}` : '';
  S.by('tc-table').replaceChildren(
    S.el(
      'table',
      { class: 'data' },
      S.el(
        'thead',
        {},
        S.el(
          'tr',
          {},
          S.el('th', { scope: 'col' }, 'Link, world'),
          columns.map(([name]) => S.el('th', { scope: 'col', class: 'num' }, name)),
        ),
      ),
      S.el(
        'tbody',
        {},
        group('Parameters'),
        rows(names(options), options),
        group('Statistics'),
        rows(names(counts), counts),
      ),
    ),
  );
};
