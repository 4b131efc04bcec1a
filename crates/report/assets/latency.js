'use strict';
// Distributions of latencies: box plots and cumulative curves, of one flow or link in all cells, or
// of all flows or links in one cell.

// The figures that there are, the one that says most first.
S.LATENCIES = [
  'induced_rtt_ms',
  'rtt_ms',
  'delay_ms',
  'sojourn_ms',
  'l_sojourn_ms',
  'c_sojourn_ms',
  'nodal_delay_ms',
  'mac_delay_ms',
];

S.Distributions = class {
  constructor() {
    this.things = this.collect();
    if (!this.things.length) {
      S.by('distributions').hidden = true;
      return;
    }
    this.key = S.LATENCIES.find((key) => this.things.some((t) => t.key === key));
    const first = this.things.filter((t) => t.key === this.key);
    const probe = first.find((t) => t.app === 'ping') || first[0];
    this.name = probe.name;
    this.cell = 0;
    this.mode = S.data.cells.length > 1 ? 'cells' : 'names';
    this.charts = S.by('distribution-charts');
    this.draw();
  }

  // Whatever has a distribution of latencies anywhere, in the order of the scenario.
  collect() {
    const things = new Map();
    for (const run of S.data.runs) {
      for (const [part, kind] of [
        ['flows', 'flow'],
        ['links', 'link'],
      ]) {
        for (const item of run[part]) {
          for (const key of Object.keys(item.cdf).filter((k) => S.LATENCIES.includes(k))) {
            const id = `${key}/${item.name}`;
            if (!things.has(id))
              things.set(id, { part, kind, key, name: item.name, app: item.app });
          }
        }
      }
    }
    return [...things.values()];
  }

  drawBar() {
    const order = S.LATENCIES.filter((key) => this.things.some((t) => t.key === key));
    const kindOf = (key) => this.things.find((t) => t.key === key).kind;
    const names = this.things.filter((t) => t.key === this.key).map((t) => t.name);
    if (!names.includes(this.name)) [this.name] = names;
    const kind = kindOf(this.key);
    const set =
      (key, convert = (v) => v) =>
      (value) => {
        this[key] = convert(value);
        this.draw();
      };
    S.by('distribution-bar').replaceChildren(
      ...[
        S.choice(
          'Figure',
          order.map((key) => [key, S.figure(kindOf(key), key).title]),
          this.key,
          set('key'),
        ),
        S.data.cells.length > 1
          ? S.choice(
              'Compare',
              [
                ['cells', 'cells'],
                ['names', `${kind}s of a cell`],
              ],
              this.mode,
              set('mode'),
            )
          : null,
        this.mode === 'cells'
          ? S.choice(
              kind === 'link' ? 'Link' : 'Flow',
              names.map((n) => [n, n]),
              this.name,
              set('name'),
            )
          : null,
        this.mode === 'names' && S.data.cells.length > 1
          ? S.choice('Cell', S.cellItems(), `${this.cell}`, set('cell', Number))
          : null,
      ].filter(Boolean),
    );
  }

  // What is compared: [label, cell, thing, colour].
  entries() {
    const same = this.things.filter((t) => t.key === this.key);
    if (this.mode === 'names') {
      return same.map((thing) => [
        thing.name,
        this.cell,
        thing,
        S.names(thing.part).indexOf(thing.name),
      ]);
    }
    const thing = same.find((t) => t.name === this.name);
    const all = S.data.cells.map((label, cell) => [
      S.faceted ? S.choiceOf(cell) : label,
      cell,
      thing,
      S.cellColour(cell),
      S.faceted ? S.facetOf(cell) : null,
    ]);
    return S.faceted ? S.facets.flatMap((facet) => all.filter((e) => e[4] === facet)) : all;
  }

  draw() {
    this.drawBar();
    this.charts.replaceChildren();
    const rows = [];
    const curves = [];
    const entries = this.entries();
    entries.forEach(([label, cell, thing, index, group], place) => {
      for (const world of S.worlds) {
        const items = S.runsOf(cell, world)
          .map((run) => S.part(run, thing.part, thing.name))
          .filter((item) => item && Array.isArray(item.f[thing.key]));
        if (!items.length) continue;
        const row = {
          label,
          group,
          world,
          index,
          ci: S.interval(items.map((i) => S.stat(i, thing.key, 'p50'))),
        };
        for (const name of ['p5', 'p25', 'p50', 'p75', 'p95', 'p99', 'mean']) {
          row[name] = S.mean(items.map((item) => S.stat(item, thing.key, name)));
        }
        rows.push(row);
        const drawn = items.find((item) => item.cdf[thing.key]);
        if (!drawn) continue;
        const [xs, ys] = drawn.cdf[thing.key];
        curves.push({
          name: S.worlds.length > 1 ? `${label} ${world}` : label,
          index,
          dash: S.dash(world),
          // Zero has no place on a logarithmic axis.
          x: (i) => Math.max(xs[i], 0.01),
          y: ys,
          step: true,
          group,
          hidden: !group && !S.shownFirst(place, entries.length),
        });
      }
    });
    if (rows.length) this.show(entries[0][2], rows, curves);
  }

  show(thing, rows, curves) {
    const figure = S.figure(thing.kind, thing.key);
    const values = rows.flatMap((r) => [r.p5, r.p95]).filter((v) => v > 0);
    const title =
      this.mode === 'cells'
        ? `${figure.title} of ${thing.kind} ${thing.name}, by cell`
        : `${figure.title} by ${thing.kind}`;
    const averaged =
      S.seeds.length > 1
        ? ` Means over ${S.seeds.length} seeds; the bracket below a box is the `
        + '95 % confidence interval of its median.'
        : '';
    new S.Boxes(this.charts, {
      title,
      quantity: figure.title,
      unit: figure.unit,
      rows,
      log: values.length > 0 && Math.max(...values) > 20 * Math.min(...values),
      note:
        `Box: quartiles; thick line: median; whiskers: 5th and 95th percentile; ` +
        `diamond: 99th.${averaged}` +
        (S.worlds.length > 1
          ? ` Filled: ${S.worlds[0]}; hollow and dashed: ${S.worlds.slice(1).join(', ')}.`
          : ''),
    });
    // The first hundredth would fill half of a logarithmic axis.
    const starts = curves.map((c) => c.x(c.y.findIndex((share) => share >= 0.01)));
    const ends = curves.map((c) => c.x(c.y.length - 1));
    const groups = [...new Set(curves.map((c) => c.group))];
    const parent =
      groups.length > 1 ? S.el('div', { class: 'charts' }) : S.el('div', { class: 'charts single' });
    this.charts.append(parent);
    for (const group of groups) {
      new S.Chart(parent, {
        title: group ? `${group}: ${figure.title}, cumulative` : `${title}, cumulative`,
        unit: 'share of samples',
        xTitle: `${figure.title}, ${figure.unit} (logarithmic)`,
        xUnit: figure.unit,
        xLog: true,
        xRange: [Math.min(...starts), Math.max(...ends)],
        yMax: 1,
        series: curves.filter((c) => c.group === group),
        height: group ? 240 : 300,
        note: group
          ? ''
          : 'Share of samples at or below the value: '
            + 'the further left and the steeper, the better.' +
            (S.seeds.length > 1 ? ` Seed ${S.seeds[0]}.` : ''),
      });
    }
  }
};
