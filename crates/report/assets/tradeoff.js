'use strict';
// Throughput against latency: a point for each cell, the mean over its seeds, with an ellipse that
// holds a seed with 68 % probability (one standard deviation along the two main axes). Latency falls
// to the right, so that better is up and right.

S.latencyOf = (run) => {
  const measured = run.flows.filter((f) => f.f.induced_rtt_ms);
  const pings = measured.filter((f) => f.app === 'ping');
  return S.mean((pings.length ? pings : measured).map((f) => S.stat(f, 'induced_rtt_ms', 'p50')));
};

// Mean, main axes and angle of points; axes only from three on.
S.ellipse = (points) => {
  const [x, y] = [0, 1].map((k) => S.mean(points.map((p) => p[k])));
  if (points.length < 3) return { x, y };
  const n = points.length - 1;
  const sum = (f) => points.reduce((total, p) => total + f(p[0] - x, p[1] - y), 0) / n;
  const [a, b, c] = [sum((u) => u * u), sum((u, v) => u * v), sum((_, v) => v * v)];
  const middle = (a + c) / 2;
  const half = Math.hypot((a - c) / 2, b);
  return {
    x,
    y,
    rx: Math.sqrt(Math.max(0, middle + half)),
    ry: Math.sqrt(Math.max(0, middle - half)),
    angle: (Math.atan2(2 * b, a - c) / 2) * (180 / Math.PI),
  };
};

S.Tradeoff = class {
  constructor() {
    this.rows = this.collect();
    const parent = S.by('tradeoff');
    if (this.rows.length < 2) return;
    parent.hidden = false;
    this.title = 'Throughput against latency';
    this.plot = S.el('div', { class: 'plot' });
    this.tip = S.el('div', { class: 'tip', hidden: true, role: 'status' });
    const tools = S.el(
      'div',
      { class: 'tools' },
      P.saveMenu(
        this.title,
        () => this.plot.querySelector('svg'),
        () => this.table(),
      ),
    );
    const many = S.seeds.length > 2;
    parent.append(
      S.el(
        'figure',
        { class: 'card chart wide' },
        S.el('div', { class: 'chart-head' }, S.el('h3', {}, this.title), tools),
        S.el(
          'p',
          { class: 'note' },
          'Up and to the right is better: latency falls to the right. ' +
            (many
              ? 'A point is the mean over seeds; its ellipse holds a seed with 68 % probability.'
              : 'A point is the mean over seeds; ellipses need three of them.') +
            (S.worlds.length > 1
              ? ` Filled: ${S.worlds[0]}; hollow: ${S.worlds.slice(1).join(', ')}.`
              : ''),
        ),
        S.el('div', { class: 'plot-box' }, this.plot, this.tip),
        this.legend(),
      ),
    );
    this.plot.addEventListener('pointerleave', () => this.hide());
    S.onResize(this.plot, () => this.draw());
  }

  hide() {
    this.tip.hidden = true;
  }

  collect() {
    const rows = [];
    S.data.cells.forEach((label, cell) => {
      for (const world of S.worlds) {
        const points = S.runsOf(cell, world)
          .map((run) => [S.latencyOf(run), run.aggregate.goodput_bps])
          .filter(([x, y]) => S.finite(x) && x > 0 && S.finite(y));
        if (points.length) rows.push({ label, cell, world, points });
      }
    });
    return rows;
  }

  legend() {
    const seen = new Map();
    for (const row of this.rows) {
      const name = S.choiceOf(row.cell);
      if (!seen.has(name)) seen.set(name, S.choiceColour(row.cell));
    }
    return S.el(
      'p',
      { class: 'note key' },
      [...seen].map(([name, colour]) =>
        S.el(
          'span',
          {},
          S.el('span', { class: 'swatch', style: `background:${S.colour(colour)}` }),
          `${name} `,
        ),
      ),
    );
  }

  table() {
    const head = ['cell', 'world', 'seed', 'median induced RTT, ms', 'goodput, bit/s'];
    const rows = this.rows.flatMap((row) =>
      S.runsOf(row.cell, row.world).map((run) => [
        row.label,
        row.world,
        run.seed,
        S.latencyOf(run),
        run.aggregate.goodput_bps,
      ]),
    );
    return [head, ...rows];
  }

  draw() {
    const width = this.plot.clientWidth;
    if (!width) return;
    const height = width < 480 ? 300 : 380;
    const all = this.rows.flatMap((row) => row.points);
    const xs = all.map((p) => p[0]);
    const ys = all.map((p) => p[1]);
    const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
    const log = x1 > 8 * x0;
    const [low, high] = log ? S.logLimits(x0 / 1.2, x1 * 1.2) : S.padded(x0, x1, true);
    const most = Math.max(...ys);
    const [y0, y1] = S.padded(Math.min(...ys), most + 0.04 * most, true);
    const [factor, unit] = S.scale('bit/s', y1);
    const yTicks = S.linearTicks(y0 / factor, y1 / factor, 5);
    const left = 30 + 7 * Math.max(...yTicks.map((t) => S.tickText(t).length), 2);
    const frame = { left, right: width - 16, top: 10, bottom: height - 40 };
    const x = S.axis(log, low, high, frame.right, frame.left);
    const y = S.axis(false, y0, y1, frame.bottom, frame.top);
    const root = S.svg('svg', {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'group',
      'aria-label': `${this.title}. ${this.rows
        .slice(0, 20)
        .map((row) => this.text(row))
        .join('; ')}`,
    });
    const text = (attributes, words) =>
      root.append(S.svg('text', { class: 'tick', ...attributes }, words));
    for (const tick of yTicks) {
      const py = y(tick * factor);
      root.append(S.svg('line', { class: 'grid', x1: left, x2: frame.right, y1: py, y2: py }));
      text({ x: left - 6, y: py + 4, 'text-anchor': 'end' }, S.tickText(tick));
    }
    const count = (frame.right - frame.left) / 70;
    for (const tick of log ? S.logTicks(low, high, count) : S.linearTicks(low, high, count)) {
      const px = x(tick);
      root.append(
        S.svg('line', { class: 'grid', x1: px, x2: px, y1: frame.top, y2: frame.bottom }),
      );
      text({ x: px, y: frame.bottom + 16, 'text-anchor': 'middle' }, S.tickText(tick));
    }
    const middle = (frame.left + frame.right) / 2;
    const scale = log && width >= 480 ? ' (logarithmic)' : '';
    const about = `median induced RTT, ms${scale}: less to the right`;
    text({ x: middle, y: frame.bottom + 34, 'text-anchor': 'middle' }, about);
    const turn = `translate(13 ${(frame.top + frame.bottom) / 2}) rotate(-90)`;
    text({ transform: turn, 'text-anchor': 'middle' }, `sum of goodputs, ${unit}`);
    root.append(
      S.svg('line', {
        class: 'axis',
        x1: left,
        x2: frame.right,
        y1: frame.bottom,
        y2: frame.bottom,
      }),
    );
    const marks = this.rows.map((row) => this.mark(root, row, x, y));
    const taken = marks.map((mark) => [mark.x - 6, mark.x + 6, mark.y + 4]);
    for (const { row, ...e } of marks) {
      if (this.rows.length <= 12 && row.world === S.worlds[0]) this.name(root, row, e, taken);
    }
    P.arrows(
      marks.sort((a, b) => a.x - b.x).map((mark) => mark.group),
      () => this.hide(),
    );
    this.plot.replaceChildren(root);
  }

  // The ellipse is that of the points on the paper, so that it is one on a logarithmic axis too.
  mark(root, row, x, y) {
    const colour = S.colour(S.choiceColour(row.cell));
    const hollow = S.worlds.indexOf(row.world) > 0;
    const e = S.ellipse(row.points.map(([px, py]) => [x(px), y(py)]));
    const group = S.svg('g', { role: 'img', 'aria-label': this.text(row) });
    if (S.finite(e.rx)) {
      group.append(
        S.svg('ellipse', {
          cx: e.x,
          cy: e.y,
          rx: Math.max(e.rx, 2),
          ry: Math.max(e.ry, 2),
          transform: `rotate(${e.angle} ${e.x} ${e.y})`,
          fill: colour,
          'fill-opacity': hollow ? 0 : 0.18,
          stroke: colour,
          'stroke-width': 1.5,
          'stroke-dasharray': S.dash(row.world),
        }),
      );
    }
    group.append(
      S.marker(S.shape(S.cellColour(row.cell)), e.x, e.y, 4.5, {
        fill: hollow ? 'var(--card)' : colour,
        stroke: colour,
        'stroke-width': 1.5,
      }),
    );
    const show = () => this.point(row, e);
    group.addEventListener('pointerenter', show);
    group.addEventListener('focus', show);
    root.append(group);
    return { group, row, x: e.x, y: e.y };
  }

  // Names stand beside their points, on whichever side there is room.
  name(root, row, e, taken) {
    const wide = row.label.length * 6.6;
    const sides = [
      [true, -7],
      [true, 15],
      [false, -7],
      [false, 15],
    ];
    const fits = ({ from, y }) =>
      from >= 0 &&
      from + wide < this.plot.clientWidth &&
      taken.every(([a, b, at]) => from > b || from + wide < a || Math.abs(at - y) > 13);
    const place = sides
      .map(([right, down]) => ({ from: right ? e.x + 10 : e.x - 10 - wide, right, y: e.y + down }))
      .find(fits);
    if (!place) return;
    taken.push([place.from, place.from + wide, place.y]);
    root.append(
      S.svg(
        'text',
        {
          class: 'label',
          x: place.right ? e.x + 10 : e.x - 10,
          y: place.y,
          'text-anchor': place.right ? 'start' : 'end',
        },
        row.label,
      ),
    );
  }

  text(row) {
    const [ms, bps] = [0, 1].map((k) => S.mean(row.points.map((p) => p[k])));
    const world = S.worlds.length > 1 ? `, ${row.world}` : '';
    return `${row.label}${world}: ${S.show(ms, 'ms')}, ${S.show(bps, 'bit/s')}`;
  }

  point(row, e) {
    const interval = (k, unit) => {
      const values = row.points.map((p) => p[k]);
      const ci = S.interval(values);
      const plus = S.finite(ci) ? ` ± ${S.show(ci, unit)}` : '';
      return `${S.show(S.mean(values), unit)}${plus}`;
    };
    this.tip.replaceChildren(
      S.el('strong', {}, S.worlds.length > 1 ? `${row.label}, ${row.world}` : row.label),
      S.el('div', {}, `median induced RTT ${interval(0, 'ms')}`),
      S.el('div', {}, `goodput ${interval(1, 'bit/s')}`),
      S.el('div', {}, `${row.points.length} seed${row.points.length === 1 ? '' : 's'}`),
    );
    this.tip.hidden = false;
    const wide = this.tip.offsetWidth;
    const place = e.x + 16 + wide > this.plot.clientWidth ? e.x - wide - 14 : e.x + 14;
    this.tip.style.left = `${Math.max(0, place)}px`;
    this.tip.style.top = `${Math.max(0, e.y - 20)}px`;
  }
};
