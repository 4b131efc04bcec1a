'use strict';
// The run in pictures and numbers: charts that grow while it goes on, and tables of its figures.

// A chart whose series change.
const LiveChart = class extends S.Chart {
  update(series) {
    const names = (list) => list.map((s) => s.name).join('\n');
    const off = new Map(this.series.map((s) => [s.name, s.off]));
    const same = names(series) === names(this.series);
    this.series = series.map((s) => ({ ...s, off: off.get(s.name) ?? false }));
    if (!same) this.buildLegend();
    this.draw();
  }
};

// A run as the page keeps it: its queue's words, and the simulator's answer, of whose cells one
// runs.
const Picture = class {
  constructor(name, started, cell) {
    this.name = name;
    this.duration = started.cells[cell].duration;
    this.apps = new Map(started.cells[cell].flows.map(({ name, app }) => [name, app]));
    this.series = { links: new Map(), flows: new Map() };
  }

  // All points that are known so far.
  show(points) {
    for (const part of ['links', 'flows']) {
      for (const { name, series } of points[part]) this.series[part].set(name, series);
    }
  }

  // The series of a metric, of those parts that have any value: [name, series].
  of(part, metric, wanted = () => true) {
    return [...this.series[part]]
      .filter(([name]) => wanted(this.apps.get(name)))
      .map(([name, all]) => [name, all[metric]])
      .filter(([, one]) => one && one[2].some((value) => value !== null));
  }
};

const Charts = class {
  constructor(parent) {
    this.parent = parent;
    this.charts = new Map();
    this.link = [];
  }

  // Charts of these runs, the last of which is the one that is on; others are kept and dashed.
  draw(runs) {
    for (const plan of Charts.plans) this.one(plan, runs);
  }

  one([title, part, metric, wanted], runs) {
    const series = runs.flatMap((run, place) => {
      const behind = runs.length - 1 - place;
      return run.of(part, metric, wanted).map(([name, [first, every, values]], index) => ({
        name: runs.length > 1 ? `${place + 1} ${run.name}: ${name}` : name,
        index: index + 3 * behind,
        dash: behind ? S.dashes[1 + ((behind - 1) % (S.dashes.length - 1))] : null,
        x: (i) => first + i * every,
        y: values,
      }));
    });
    const duration = Math.max(...runs.map((run) => run.duration));
    const known = this.charts.get(title);
    if (known) {
      known.options.xRange = [0, duration];
      known.update(series);
      known.plot.closest('figure').hidden = !series.length;
      return;
    }
    if (!series.length) return;
    const figure = S.figure(part.slice(0, -1), metric, 'series');
    const chart = new LiveChart(this.parent, {
      title,
      note: figure.meaning,
      unit: figure.unit,
      xTitle: 'seconds since the start of the run',
      xUnit: 's',
      xRange: [0, duration],
      link: this.link,
      series,
    });
    this.charts.set(title, chart);
  }
};

// Title, whose series, which, of what apps.
Charts.plans = [
  ['Round-trip time of the ping', 'flows', 'rtt', (app) => app === 'ping'],
  ['Packets in the queue', 'links', 'backlog', undefined],
  ['Congestion windows', 'flows', 'cwnd', undefined],
  ['Throughput', 'flows', 'throughput', (app) => app !== 'ping'],
  ['Time in the queue', 'links', 'sojourn', undefined],
  ['Delay of the L queue', 'links', 'delay_l', undefined],
  ['Delay of the C queue', 'links', 'delay_c', undefined],
  ['Share of marks that senders reckon with', 'flows', 'alpha', undefined],
];

const Tables = {};

// Key of the figure, its statistic.
Tables.columns = {
  link: [
    ['utilisation'],
    ['sojourn_ms', 'p50'],
    ['sojourn_ms', 'p95'],
    ['l_sojourn_ms', 'p99'],
    ['c_sojourn_ms', 'p99'],
    ['backlog_packets_mean'],
    ['offered_packets'],
    ['dropped_packets'],
    ['marked_packets'],
    ['l_marked_packets'],
    ['c_marked_packets'],
  ],
  flow: [
    ['goodput_bps'],
    ['rtt_ms', 'p50'],
    ['rtt_ms', 'p95'],
    ['induced_rtt_ms', 'p50'],
    ['sent_packets'],
    ['retransmitted_packets'],
    ['loss_ratio'],
    ['ce_ratio'],
    ['alpha', 'mean'],
  ],
};

// A share is shown in per cent.
Tables.value = (figure, [key, statistic], figures) => {
  const found = figures[key];
  const value = statistic ? found && found[statistic] : found;
  if (!S.finite(value)) return '–';
  if (Tables.shares.includes(key)) return `${S.digits(100 * value)}\u00a0%`;
  return figure.unit === 'packets' ? S.digits(value) : S.show(value, figure.unit);
};

Tables.shares = ['utilisation', 'loss_ratio', 'ce_ratio', 'alpha'];

Tables.draw = (table, kind, parts) => {
  const columns = Tables.columns[kind].filter(([key, statistic]) =>
    parts.some(({ figures }) => S.finite(statistic ? figures[key]?.[statistic] : figures[key])),
  );
  const heads = columns.map(([key, statistic = '']) => {
    const { title, meaning } = S.figure(kind, key);
    const head = { scope: 'col', class: 'num', title: meaning };
    return S.el('th', head, `${title} ${statistic}`.trim());
  });
  const rows = parts.map(({ name, figures }) =>
    S.el(
      'tr',
      {},
      S.el('th', { scope: 'row' }, name),
      columns.map((column) =>
        S.el('td', { class: 'num' }, Tables.value(S.figure(kind, column[0]), column, figures)),
      ),
    ),
  );
  const first = S.el('th', { scope: 'col' }, kind === 'link' ? 'Link' : 'Flow');
  table.replaceChildren(
    S.el('thead', {}, S.el('tr', {}, first, heads)),
    S.el('tbody', {}, rows),
  );
};
