'use strict';
// Uploads, downloads and pings of a cell above each other on one time axis, as RRUL is read. Results
// do not say which way a flow goes; its name does, where it has “up” or “down” in it as a word.

S.wayOf = (name) => {
  const has = (way) => new RegExp(`(^|[^a-z])${way}(load|link)?([^a-z]|$)`, 'i').test(name);
  if (has('up') === has('down')) return null;
  return has('up') ? 'up' : 'down';
};

S.isPing = (name) =>
  S.data.runs.some((run) => run.flows.some((f) => f.name === name && f.app === 'ping'));

// The names that belong into each panel, from above; null where a flow belongs into none.
S.stackOf = () => {
  const panels = { up: [], down: [], ping: [] };
  for (const name of S.names('flows')) {
    const panel = S.isPing(name) ? 'ping' : S.wayOf(name);
    if (!panel) return null;
    panels[panel].push(name);
  }
  return Object.values(panels).every((names) => names.length) ? panels : null;
};

S.stackable = () => S.stackOf() !== null;

// The mean of several series at each time that all have.
S.meanOf = (series) => ({
  ...series[0],
  name: 'mean',
  index: S.colours - 1,
  y: series[0].y.map((_, i) => {
    const mean = S.mean(series.map((s) => s.y[i]));
    return S.finite(mean) ? mean : null;
  }),
});

S.stack = (time) => {
  const panels = S.stackOf();
  const carried = S.data.runs.some((run) => run.flows.some((f) => f.s.throughput));
  const rate = carried ? 'throughput' : 'goodput';
  const titles = { up: 'Uploads', down: 'Downloads', ping: 'Pings' };
  for (const [panel, names] of Object.entries(panels)) {
    const metric = panel === 'ping' ? 'rtt' : rate;
    const all = time.collect('flows', metric);
    const of = (s) => names.some((name) => s.name === name || s.name.startsWith(`${name} `));
    // Colours begin anew in each panel.
    const series = all.filter(of).map((s, index) => ({ ...s, index, hidden: false }));
    if (S.worlds.length === 1 && panel !== 'ping' && series.length > 1) {
      series.push(S.meanOf(series));
    }
    const about = { throughput: 'throughput', goodput: 'goodput', rtt: 'round-trip time' }[metric];
    const last = panel === 'ping';
    time.add('flow', metric, series, `${titles[panel]}: ${about}`, {
      note: '',
      bare: !last,
      left: 58,
      xRange: [0, Math.max(...series.map((s) => s.x(s.y.length - 1)))],
      height: last ? 210 : 180,
    });
  }
};
