'use strict';
// Figures along a swept quantity: one line per value of the other parameters.

// `240ms`, `12mbit`, `0.01`: the number and its unit; null for words.
S.quantity = (text) => {
  const match = /^([0-9]*\.?[0-9]+)\s*([a-zA-Z%/]*)$/.exec(`${text}`.trim());
  if (!match) return null;
  const factors = {
    '': 1,
    '%': 1,
    ns: 1e-6,
    us: 1e-3,
    ms: 1,
    s: 1e3,
    sec: 1e3,
    bit: 1,
    kbit: 1e3,
    mbit: 1e6,
    gbit: 1e9,
  };
  const unit = match[2]
    .toLowerCase()
    .replace(/\/s$/, '')
    .replace(/^bps$/, 'bit')
    .replace(/bps$/, 'bit');
  if (!(unit in factors)) return null;
  const base = unit.endsWith('bit') ? 'bit/s' : unit.endsWith('s') ? 'ms' : unit;
  return { x: Number(match[1]) * factors[unit], unit: base };
};

S.Trend = class {
  constructor() {
    const { params, parts } = S.data;
    this.fields = parts
      .flatMap((part) => part.fields)
      .filter((field) => {
        const list = params.map((p) => S.quantity(p[field]));
        return (
          list.every((q) => q && q.unit === list[0].unit) && new Set(list.map((q) => q.x)).size > 2
        );
      });
    if (!this.fields.length) return;
    S.by('trend').hidden = false;
    this.field = this.fields[this.fields.length - 1];
    this.draw();
  }

  // The axis, with what changes along it.
  xName() {
    const { fields } = S.data.parts.find((part) => part.fields.includes(this.field));
    const others = fields.filter((field) => field !== this.field);
    return others.length ? `${this.field} (with ${others.join(', ')})` : this.field;
  }

  draw() {
    S.by('trend-bar').replaceChildren(
      ...(this.fields.length > 1
        ? [
            S.choice(
              'Along',
              this.fields.map((f) => [f, f]),
              this.field,
              (f) => {
                this.field = f;
                this.draw();
              },
            ),
          ]
        : []),
    );
    const charts = S.by('trend-charts');
    charts.replaceChildren();
    const drops = (run) => {
      const sum = (key) => run.links.reduce((total, l) => total + l.f[key], 0);
      return (100 * sum('dropped_packets')) / sum('offered_packets');
    };
    this.chart(
      charts,
      'Median induced RTT',
      'ms',
      S.latencyOf,
      true,
      'Of the pings, or of every flow that measures it.',
    );
    this.chart(
      charts,
      'Sum of goodputs',
      'bit/s',
      (run) => run.aggregate.goodput_bps,
      false,
      'Over all flows, both directions.',
    );
    this.chart(charts, 'Dropped', '%', drops, false, 'Of the packets offered to all queues.');
    this.chart(
      charts,
      'Jain’s index',
      '',
      (run) => run.aggregate.jain,
      false,
      'Of the flows that share a bottleneck.',
      1,
    );
  }

  // What a line is drawn for: the values of the other parts, and of those fields of its own part
  // that are not the same wherever the axis has the same value.
  lineOf(cell) {
    const { params, parts } = S.data;
    const free = (field) =>
      params.some(
        (p) => p[this.field] === params[cell][this.field] && p[field] !== params[cell][field],
      );
    return parts
      .flatMap((part) =>
        part.fields.includes(this.field)
          ? part.fields.filter(free).map((field) => params[cell][field])
          : [part.values[cell]],
      )
      .join(' · ');
  }

  // Lines by the values of the other parts; each point the mean over seeds.
  chart(parent, title, unit, value, log, note, yCap) {
    const { params, parts, choice, cells } = S.data;
    const lines = new Map();
    cells.forEach((_, cell) => {
      const name = this.lineOf(cell) || 'all';
      for (const world of S.worlds) {
        const y = S.mean(S.runsOf(cell, world).map(value));
        if (!S.finite(y)) continue;
        const id = `${name}/${world}`;
        if (!lines.has(id)) lines.set(id, { name, world, cell, points: [] });
        lines.get(id).points.push([S.quantity(params[cell][this.field]).x, y]);
      }
    });
    if (!lines.size) return;
    // The choice gives the colour, as everywhere; what else was varied gives marker and dashes.
    const chosen = choice !== null && !parts[choice].fields.includes(this.field);
    const rest = (line) => (chosen ? S.facetValues(line.cell, this.field) : line.name);
    const rests = [...new Set([...lines.values()].map(rest))];
    const { unit: base } = S.quantity(params[0][this.field]);
    const at = [...lines.values()].flatMap((line) => line.points.map((p) => p[0]));
    const [factor, xUnit] = S.scale(base, Math.max(...at));
    const series = [...lines.values()].map((line) => {
      const points = line.points.sort((a, b) => a[0] - b[0]);
      const place = rests.indexOf(rest(line));
      return {
        name: S.worlds.length > 1 ? `${line.name} ${line.world}` : line.name,
        index: chosen ? S.cellColour(line.cell) + S.colours * place : place,
        dash: chosen && S.worlds.length === 1 ? S.dashes[place % 4] : S.dash(line.world),
        x: (i) => points[i][0] / factor,
        y: points.map((p) => p[1]),
        everyMark: true,
      };
    });
    const values = series.flatMap((s) => s.y).filter((v) => v > 0);
    new S.Chart(parent, {
      title,
      unit,
      note,
      series,
      xUnit,
      xTitle: `${this.xName()}${xUnit ? `, ${xUnit}` : ''}`,
      xAt: [...new Set(series.flatMap((s) => s.y.map((_, i) => s.x(i))))].sort((a, b) => a - b),
      zoomed: true,
      yCap,
      yLog: log && Math.max(...values) > 20 * Math.min(...values),
      height: 280,
    });
  }
};
