'use strict';
// Sojourn report: data, numbers, small helpers. Everything hangs on `S`.
const S = {};

// --- elements -------------------------------------------------------------------------------

S.fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith('aria-')) node.setAttribute(name, value);
    else if (value === false) continue;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
};

S.el = (tag, attributes, ...children) => S.fill(document.createElement(tag), attributes, children);

// The namespace comes from a drawing that the page already holds.
S.svg = (tag, attributes, ...children) =>
  S.fill(document.createElementNS(S.by('logo').namespaceURI, tag), attributes, children);

S.by = (id) => document.getElementById(id);

S.option = (value, text, selected) => S.el('option', { value, selected }, text);

// --- numbers --------------------------------------------------------------------------------

S.finite = (x) => typeof x === 'number' && Number.isFinite(x);

// Whole numbers in groups of three, those of four digits in one piece.
S.grouped = (x) =>
  (Math.abs(x) < 1e4 ? `${x}` : x.toLocaleString('en').replaceAll(',', '\u2009')).replace('-', '−');

// Significant digits without exponents, trailing zeros kept only where they say something.
S.digits = (x, digits = 3) => {
  if (!S.finite(x)) return '–';
  if (Number.isInteger(x)) return S.grouped(x);
  const size = Math.floor(Math.log10(Math.abs(x)));
  if (size >= digits - 1) return S.grouped(Math.round(x));
  return x.toFixed(Math.min(digits - 1 - size, 8));
};

S.scales = {
  'bit/s': [
    [1e9, 'Gbit/s'],
    [1e6, 'Mbit/s'],
    [1e3, 'kbit/s'],
    [1, 'bit/s'],
  ],
  bytes: [
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'kB'],
    [1, 'bytes'],
  ],
};

// The factor and name of the unit in which `largest` reads best.
S.scale = (unit, largest) => {
  const list = S.scales[unit];
  if (!list) return [1, unit];
  return list.find(([factor]) => largest >= factor) || list[list.length - 1];
};

S.show = (x, unit) => {
  if (!S.finite(x)) return '–';
  const [factor, name] = S.scale(unit, Math.abs(x));
  return name ? `${S.digits(x / factor)}\u00a0${name}` : S.digits(x);
};

S.mean = (values) => {
  const present = values.filter(S.finite);
  return present.length ? present.reduce((a, b) => a + b, 0) / present.length : NaN;
};

// Half the 95 % confidence interval of the mean over seeds; NaN below two values.
S.interval = (values) => {
  const present = values.filter(S.finite);
  const n = present.length;
  if (n < 2) return NaN;
  const mean = S.mean(present);
  const squares = present.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  const t = S.data.t975[Math.min(n - 1, S.data.t975.length) - 1];
  return t * Math.sqrt(squares / (n - 1) / n);
};

// --- what there is --------------------------------------------------------------------------

S.take = (data) => {
  S.data = data;
  S.worlds = [...new Set(data.runs.map((run) => run.world))];
  S.seeds = [...new Set(data.runs.map((run) => run.seed))];
  S.faceted = data.cells.length > 8 && data.parts.length > 1;
  S.facets = S.faceted ? [...new Set(data.cells.map((_, cell) => S.facetOf(cell)))] : [];
};

S.names = (part) => [...new Set(S.data.runs.flatMap((run) => run[part].map((item) => item.name)))];

S.runsOf = (cell, world) =>
  S.data.runs.filter((run) => run.cell === cell && (!world || run.world === world));

// What is compared: a queue, where one is swept. Fields that change together have one value.
S.choiceOf = (cell) =>
  S.data.choice === null ? S.data.cells[cell] : S.data.parts[S.data.choice].values[cell];

// The other parts of the sweep.
S.otherParts = () => S.data.parts.filter((_, part) => part !== S.data.choice);

// What else tells cells apart, while there are more than a picture holds: cells of one facet differ
// in their choice alone.
S.facetOf = (cell) =>
  S.otherParts()
    .map((part) => `${part.name} ${part.values[cell]}`)
    .join(' · ');

// The same without the part that has the field of an axis.
S.facetValues = (cell, axis) =>
  S.otherParts()
    .filter((part) => !part.fields.includes(axis))
    .map((part) => part.values[cell])
    .join(' · ');

S.part = (run, part, name) => run[part].find((item) => item.name === name);

S.figure = (kind, key, shape) =>
  S.data.figures.find((f) => f.kind === kind && f.key === key && (!shape || f.shape === shape));

S.stat = (item, key, name) => {
  const list = item && item.f[key];
  return list ? list[S.data.statistics.indexOf(name)] : NaN;
};

// --- looks ----------------------------------------------------------------------------------

S.colours = 8;
S.colour = (index) => `var(--c${index % S.colours})`;
S.shapes = ['circle', 'square', 'up', 'diamond', 'down'];
// Eight colours with five markers: forty lines that can be told apart.
S.shape = (index) => S.shapes[(index + Math.floor(index / S.colours)) % S.shapes.length];

S.marker = (shape, x, y, r, attributes) => {
  const e = r * 1.3;
  const d = {
    circle: `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`,
    square: `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
    up: `M${x},${y - r * 1.15}l${r * 1.15},${2 * r}h${-2.3 * r}Z`,
    down: `M${x},${y + r * 1.15}l${r * 1.15},${-2 * r}h${-2.3 * r}Z`,
    diamond: `M${x},${y - e}l${e},${e}l${-e},${e}l${-e},${-e}Z`,
  }[shape];
  return S.svg('path', { d, ...attributes });
};

// Of many items eight, evenly spread, are drawn at first.
S.shownFirst = (i, n) => n <= 14 || Math.floor((i * 8) / n) !== Math.floor(((i - 1) * 8) / n);

// The first world solid, the others dashed, each in its way.
S.dashes = [null, '6 4', '2 3', '9 3 2 3'];
S.dash = (world) => S.dashes[S.worlds.indexOf(world) % S.dashes.length];

// --- axes -----------------------------------------------------------------------------------

S.linearTicks = (low, high, count) => {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0)) return [low];
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * size).find((s) => s >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
};

S.logTicks = (low, high, count) => {
  const decades = Math.log10(high / low);
  const factors = decades * 3 <= count ? [1, 2, 5] : [1];
  // A decade's name takes less room than those of 1, 2, 5 beside each other.
  const every = Math.max(1, Math.ceil(decades / Math.max(1, 1.8 * count)));
  const ticks = [];
  for (let e = Math.floor(Math.log10(low) + 1e-9); e <= Math.ceil(Math.log10(high)); e += 1) {
    if (factors.length === 1 && e % every !== 0) continue;
    for (const f of factors) {
      const tick = Number((f * 10 ** e).toPrecision(6));
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks.length > 1 ? ticks : S.linearTicks(low, high, count);
};

// Limits of a linear axis: from zero, unless all that happens does so far above it and the axis may
// begin there.
S.padded = (low, high, mayZoom) => {
  if (!mayZoom || low <= 0.5 * high) return [Math.min(0, low), high];
  const room = Math.max(0.15 * (high - low), 0.02 * high);
  const step = 10 ** Math.floor(Math.log10(high - low + 2 * room)) / 2;
  return [
    Math.max(0, Math.floor((low - room) / step) * step),
    Math.ceil((high + room) / step) * step,
  ];
};

// Limits of a logarithmic axis: whole steps of 1, 2, 5 around the values.
S.logLimits = (low, high) => {
  const down = (x) => {
    const size = 10 ** Math.floor(Math.log10(x) + 1e-9);
    return [5, 2, 1].map((f) => f * size).find((f) => f <= x * 1.0001);
  };
  const up = (x) => {
    const size = 10 ** Math.floor(Math.log10(x) + 1e-9);
    return [1, 2, 5, 10].map((f) => f * size).find((f) => f >= x * 0.9999);
  };
  const limits = [down(low), up(high)];
  return limits[0] < limits[1] ? limits : [limits[0] / 2, limits[1] * 2];
};

S.tickText = (tick) => (Number.isInteger(tick) ? S.grouped(tick) : `${tick}`.replace('-', '−'));

S.axis = (log, low, high, from, to) => {
  if (log) {
    const [a, b] = [Math.log(low), Math.log(high)];
    const scale = (x) => from + ((Math.log(Math.max(x, low / 1e3)) - a) / (b - a)) * (to - from);
    scale.invert = (px) => Math.exp(a + ((px - from) / (to - from)) * (b - a));
    return scale;
  }
  const span = high - low || 1;
  const scale = (x) => from + ((x - low) / span) * (to - from);
  scale.invert = (px) => low + ((px - from) / (to - from)) * span;
  return scale;
};

// --- size -----------------------------------------------------------------------------------

// Draws now and whenever the width changes.
S.onResize = (node, draw) => {
  let width = node.clientWidth;
  if (width) draw();
  new ResizeObserver(() => {
    if (node.clientWidth === width) return;
    width = node.clientWidth;
    draw();
  }).observe(node);
  for (const event of ['beforeprint', 'afterprint']) addEventListener(event, draw);
};

// For print the page gets the width of paper, so that charts are drawn in the size that they have
// there. These listeners are the first, before those of any chart.
S.onPaper = () => document.documentElement.classList.contains('paper');
addEventListener('beforeprint', () => document.documentElement.classList.add('paper'));
addEventListener('afterprint', () => document.documentElement.classList.remove('paper'));
