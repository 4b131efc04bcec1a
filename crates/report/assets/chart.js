'use strict';
// Line charts: series over time, cumulative distributions. Hover, zoom, legend, keyboard.
//
// options: { title, note, unit, xTitle, xUnit, xLog, xAt, xRange, yLog, zoomed, yMax, yCap,
//   series, link, left, bare }
// series: [{ name, index, dash, hidden, x: i => number, y: [numbers or null], step }]

S.Chart = class {
  constructor(parent, options) {
    this.options = options;
    this.series = options.series.map((s) => ({ ...s, off: Boolean(s.hidden) }));
    this.yLog = Boolean(options.yLog);
    this.xLog = Boolean(options.xLog);
    this.zoom = null;
    this.at = null;
    this.strong = null;
    this.build(parent);
    S.onResize(this.plot, () => this.draw());
    if (options.link) options.link.push(this);
  }

  build(parent) {
    const { title, note } = this.options;
    this.unitLabel = S.el('span', { class: 'unit' });
    this.reset = S.el(
      'button',
      {
        type: 'button',
        class: 'small',
        hidden: true,
        onclick: () => this.zoomTo(null),
      },
      'Reset zoom',
    );
    this.logButton = S.el(
      'button',
      {
        type: 'button',
        class: 'small',
        'aria-pressed': this.yLog,
        title: 'Logarithmic axis',
        onclick: () => this.toggleLog(),
      },
      'log',
    );
    this.plot = S.el('div', { class: 'plot' });
    this.tip = S.el('div', { class: 'tip', hidden: true, role: 'status' });
    this.legend = S.el('div', {
      class: 'legend',
      role: 'group',
      'aria-label': `Series of ${title}`,
    });
    const head = S.el(
      'div',
      { class: 'chart-head' },
      S.el('h3', {}, title, ' ', this.unitLabel),
      S.el(
        'div',
        { class: 'tools' },
        this.reset,
        this.options.yMax ? null : this.logButton,
        P.saveMenu(
          title,
          () => this.root,
          () => this.table(),
        ),
      ),
    );
    const figure = S.el(
      'figure',
      { class: 'card chart' },
      head,
      note ? S.el('p', { class: 'note' }, note) : null,
      S.el('div', { class: 'plot-box' }, this.plot, this.tip),
      this.legend,
    );
    parent.append(figure);
    this.buildLegend();
    this.listen();
  }

  buildLegend() {
    const many = this.series.length > 14;
    this.legend.classList.toggle('many', many);
    this.legend.replaceChildren();
    if (this.series.length > 4) {
      const all = (off) => {
        this.series.forEach((s) => {
          s.off = off;
        });
        this.buildLegend();
        this.draw();
      };
      this.legend.append(
        S.el('button', { type: 'button', class: 'small', onclick: () => all(false) }, 'all'),
        S.el('button', { type: 'button', class: 'small', onclick: () => all(true) }, 'none'),
      );
    }
    const off = this.series.filter((s) => s.off).length;
    if (off) {
      const text = `${this.series.length - off} of ${this.series.length} shown`;
      this.legend.append(S.el('span', { class: 'note' }, text));
    }
    for (const s of this.series) {
      const key = S.svg(
        'svg',
        { width: 26, height: 12, 'aria-hidden': 'true' },
        S.svg('line', {
          x1: 0,
          x2: 26,
          y1: 6,
          y2: 6,
          stroke: S.colour(s.index),
          'stroke-width': 2,
          'stroke-dasharray': s.dash,
        }),
        S.marker(S.shape(s.index), 13, 6, 3.2, { fill: S.colour(s.index) }),
      );
      const button = S.el(
        'button',
        {
          type: 'button',
          'aria-pressed': !s.off,
          onclick: () => {
            s.off = !s.off;
            const place = [...this.legend.querySelectorAll('[data-series]')].indexOf(button);
            this.buildLegend();
            this.legend.querySelectorAll('[data-series]')[place].focus();
            this.draw();
          },
          'data-series': '',
          onpointerenter: () => this.emphasise(s),
          onpointerleave: () => this.emphasise(null),
        },
        key,
        S.el('span', {}, s.name),
      );
      this.legend.append(button);
    }
  }

  // What is drawn, a value a row.
  table() {
    const { xTitle, unit } = this.options;
    const rows = this.series
      .filter((s) => !s.off)
      .flatMap((s) => s.y.map((y, i) => [s.name, s.x(i), y]));
    return [['series', xTitle, `${this.options.title}${unit ? `, ${unit}` : ''}`], ...rows];
  }

  emphasise(series) {
    this.strong = series;
    for (const s of this.series) {
      if (s.group) s.group.style.opacity = series && series !== s ? 0.15 : '';
    }
  }

  toggleLog() {
    this.yLog = !this.yLog;
    this.logButton.setAttribute('aria-pressed', this.yLog);
    this.draw();
  }

  // --- geometry -----------------------------------------------------------------------------

  limits(shown) {
    let [x0, x1, y0, y1, least] = [Infinity, -Infinity, Infinity, -Infinity, Infinity];
    for (const s of shown) {
      const n = s.y.length;
      if (!n) continue;
      for (let i = 0; i < n; i += 1) {
        const x = s.x(i);
        if (x < x0) x0 = x;
        if (x > x1) x1 = x;
        if (this.zoom && (x < this.zoom[0] || x > this.zoom[1])) continue;
        const y = s.y[i];
        if (y === null) continue;
        if (y < y0) y0 = y;
        if (y > y1) y1 = y;
        if (y > 0 && y < least) least = y;
      }
    }
    if (this.options.xRange) [x0, x1] = this.options.xRange;
    else if (!this.options.xLog && x0 > 0 && x0 < x1 / 10) x0 = 0;
    // Markers at the first and the last value need room.
    if (shown.some((s) => s.everyMark)) {
      const room = 0.03 * (x1 - x0);
      [x0, x1] = [x0 - room, x1 + room];
    }
    if (this.zoom) [x0, x1] = this.zoom;
    if (!(x1 > x0)) x1 = x0 + 1;
    if (!S.finite(x0)) [x0, x1] = [0, 1];
    if (!S.finite(y0)) [y0, y1, least] = [0, 1, 0.1];
    return { x0, x1, y0, y1, least };
  }

  draw() {
    const width = this.plot.clientWidth;
    if (!width) return;
    const usual = this.options.height || (width < 480 ? 220 : 250);
    const height = S.onPaper() && width < 480 ? 180 : usual;
    const shown = this.series.filter((s) => !s.off);
    const box = this.limits(shown);
    const log = this.yLog && S.finite(box.least);
    let [low, high] = log
      ? S.logLimits(Math.max(box.least, box.y1 / 1e4), Math.max(box.y1, box.least))
      : S.padded(box.y0, box.y1, this.options.zoomed);
    if (this.options.yMax && !log) high = this.options.yMax;
    // No value can be above.
    if (this.options.yCap && !log) high = Math.min(high, this.options.yCap);
    if (high <= low) high = low + 1;
    const [factor, unit] = S.scale(this.options.unit, high);
    const yTicks = log
      ? S.logTicks(low / factor, high / factor, 6)
      : S.linearTicks(low / factor, high / factor, 5);
    if (!log && !this.options.yMax) {
      const step = yTicks.length > 1 ? yTicks[1] - yTicks[0] : 1;
      if (!this.options.yCap && high / factor > yTicks[yTicks.length - 1] + step * 1e-6) {
        yTicks.push(Number((yTicks[yTicks.length - 1] + step).toPrecision(12)));
      }
      if (!this.options.yCap) high = yTicks[yTicks.length - 1] * factor;
    }
    const names = 14 + 7 * Math.max(...yTicks.map((t) => S.tickText(t).length), 2);
    const left = Math.max(names, this.options.left || 0);
    // Above another chart with the same time axis it needs none of its own.
    const below = this.options.bare ? 8 : 38;
    const frame = { left, right: width - 14, top: 8, bottom: height - below };
    const xLog = this.xLog && box.x0 > 0;
    const x = S.axis(xLog, box.x0, box.x1, frame.left, frame.right);
    const y = S.axis(log, low, high, frame.bottom, frame.top);
    Object.assign(this, { frame, x, y, shown, box, xLogged: xLog });
    this.unitLabel.textContent = low > 0 && !log ? `${unit} (from ${S.show(low, this.options.unit)})` : unit;
    this.reset.hidden = !this.zoom;
    const root = S.svg('svg', {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      tabindex: 0,
      'aria-label': this.spoken(unit, factor),
    });
    this.drawAxes(
      root,
      frame,
      yTicks.map((t) => [t, y(t * factor)]),
      xLog,
    );
    const clip = `clip${(S.Chart.count += 1)}`;
    root.append(
      S.svg(
        'clipPath',
        { id: clip },
        S.svg('rect', {
          x: frame.left,
          y: frame.top - 2,
          width: frame.right - frame.left,
          height: frame.bottom - frame.top + 4,
        }),
      ),
    );
    const lines = S.svg('g', { 'clip-path': `url(#${clip})` });
    for (const s of shown) lines.append(this.drawSeries(s));
    this.cursor = S.svg('g', {});
    root.append(lines, this.cursor);
    this.plot.replaceChildren(root);
    this.root = root;
  }

  drawAxes(root, frame, yTicks, xLog) {
    const { x0, x1 } = this.box;
    for (const [tick, py] of yTicks) {
      if (py < frame.top - 1 || py > frame.bottom + 1) continue;
      root.append(
        S.svg('line', { class: 'grid', x1: frame.left, x2: frame.right, y1: py, y2: py }),
        S.svg(
          'text',
          { class: 'tick', x: frame.left - 7, y: py + 4, 'text-anchor': 'end' },
          S.tickText(tick),
        ),
      );
    }
    const count = (frame.right - frame.left) / 75;
    for (const tick of this.xTicks(xLog, x0, x1, count)) {
      const px = this.x(tick);
      root.append(
        S.svg('line', { class: 'grid', x1: px, x2: px, y1: frame.top, y2: frame.bottom }),
      );
      if (this.options.bare) continue;
      root.append(
        S.svg(
          'text',
          { class: 'tick', x: px, y: frame.bottom + 16, 'text-anchor': 'middle' },
          S.tickText(tick),
        ),
      );
    }
    root.append(
      S.svg('line', {
        class: 'axis',
        x1: frame.left,
        x2: frame.right,
        y1: frame.bottom,
        y2: frame.bottom,
      }),
    );
    if (this.options.bare) return;
    root.append(
      S.svg(
        'text',
        {
          class: 'tick title',
          x: (frame.left + frame.right) / 2,
          y: frame.bottom + 33,
          'text-anchor': 'middle',
        },
        this.options.xTitle,
      ),
    );
  }

  // Where the data are, as long as these places are few and apart; else round numbers.
  xTicks(xLog, x0, x1, count) {
    const round = () => (xLog ? S.logTicks(x0, x1, count) : S.linearTicks(x0, x1, count));
    if (!this.options.xAt || this.options.xAt.length > 12) return round();
    const kept = [];
    for (const at of this.options.xAt) {
      const room = 7 * S.tickText(at).length + 10;
      const last = kept[kept.length - 1];
      if (last === undefined || this.x(at) - this.x(last) >= room) kept.push(at);
    }
    return kept;
  }

  // The line as a path: where points are denser than pixels, each pixel's extremes.
  drawSeries(s) {
    const group = S.svg('g', {});
    s.group = group;
    const { x0, x1 } = this.box;
    const colour = S.colour(s.index);
    const thin = this.shown.length > 12;
    let path = '';
    let pen = false;
    const dots = [];
    const move = (px, py) => {
      // The short stroke makes a point without neighbours a dot.
      path += `${pen ? 'L' : 'M'}${px.toFixed(1)},${py.toFixed(1)}${pen ? '' : 'h.01'}`;
      pen = true;
    };
    let column = null;
    const flush = () => {
      if (!column) return;
      const [first, other] = column.firstIsLow ? ['low', 'high'] : ['high', 'low'];
      move(column.px, column[first]);
      if (column.low !== column.high) move(column.px, column[other]);
      column = null;
    };
    const dense = s.y.length > 2 * (this.frame.right - this.frame.left);
    for (let i = 0; i < s.y.length; i += 1) {
      const value = s.y[i];
      const at = s.x(i);
      const near =
        this.zoom && (s.x(Math.min(i + 1, s.y.length - 1)) < x0 || s.x(Math.max(i - 1, 0)) > x1);
      if (near) continue;
      if (value === null) {
        flush();
        pen = pen && s.join;
        continue;
      }
      const [px, py] = [this.x(at), this.y(value)];
      dots.push([px, py]);
      if (!dense) {
        if (s.step && pen) path += `H${px.toFixed(1)}`;
        move(px, py);
      } else if (column && Math.round(px) === column.px) {
        column.firstIsLow = column.firstIsLow ?? py < column.low;
        column.low = Math.min(column.low, py);
        column.high = Math.max(column.high, py);
      } else {
        flush();
        column = { px: Math.round(px), low: py, high: py };
      }
    }
    flush();
    group.append(
      S.svg('path', {
        d: path,
        fill: 'none',
        stroke: colour,
        'stroke-width': thin ? 1.1 : 1.7,
        'stroke-dasharray': s.dash,
        'stroke-linejoin': 'round',
        'stroke-linecap': 'round',
      }),
    );
    const every = s.everyMark ? 1 : Math.max(1, Math.floor(dots.length / 5));
    const offset = Math.floor(every / 2) + ((s.index * 7) % Math.max(1, Math.floor(every / 3)));
    for (let i = offset; i < dots.length; i += every) {
      group.append(
        S.marker(S.shape(s.index), dots[i][0], dots[i][1], thin ? 2.4 : 3.2, {
          fill: colour,
          class: 'mark',
        }),
      );
    }
    return group;
  }

  spoken(unit, factor) {
    const parts = this.shown.slice(0, 12).map((s) => {
      const values = s.y.filter((v) => v !== null);
      return `${s.name}: mean ${S.digits(S.mean(values) / factor)} ${unit}`;
    });
    return (
      `${this.options.title}. ${this.options.spoken || parts.join('; ')}. ` +
      'Arrow keys read values, plus and minus zoom, zero resets.'
    );
  }

  // --- pointer and keyboard -----------------------------------------------------------------

  listen() {
    const place = (event) => event.clientX - this.plot.getBoundingClientRect().left;
    let from = null;
    this.plot.addEventListener('pointermove', (event) => {
      if (!this.frame) return;
      const px = place(event);
      if (from !== null && Math.abs(px - from) > 4) this.drawSelection(from, px);
      else this.pointAt(px, event.clientY - this.plot.getBoundingClientRect().top);
    });
    this.plot.addEventListener('pointerleave', () => this.clear());
    this.plot.addEventListener('pointerdown', (event) => {
      if (event.pointerType === 'mouse' && event.button === 0) from = place(event);
    });
    window.addEventListener('pointerup', (event) => {
      if (from === null) return;
      const [a, b] = [from, place(event)].sort((p, q) => p - q);
      from = null;
      if (b - a > 8)
        this.zoomTo([
          this.x.invert(Math.max(a, this.frame.left)),
          this.x.invert(Math.min(b, this.frame.right)),
        ]);
    });
    this.plot.addEventListener('dblclick', () => this.zoomTo(null));
    this.plot.addEventListener('keydown', (event) => this.key(event));
    this.plot.addEventListener('focusout', () => this.clear());
  }

  key(event) {
    const { left, right } = this.frame;
    const step = event.shiftKey ? 40 : 8;
    const at = this.at === null ? (left + right) / 2 : this.at;
    const actions = {
      ArrowLeft: () => this.pointAt(Math.max(left, at - step)),
      ArrowRight: () => this.pointAt(Math.min(right, at + step)),
      '+': () =>
        this.zoomTo([this.x.invert(at - (at - left) / 2), this.x.invert(at + (right - at) / 2)]),
      '-': () => this.zoomTo(null),
      0: () => this.zoomTo(null),
      Escape: () => this.clear(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    this.root.focus();
  }

  zoomTo(range) {
    for (const chart of this.options.link || [this]) {
      chart.zoom = range;
      chart.at = null;
      chart.tip.hidden = true;
      chart.draw();
    }
  }

  drawSelection(a, b) {
    const [from, to] = [
      Math.max(Math.min(a, b), this.frame.left),
      Math.min(Math.max(a, b), this.frame.right),
    ];
    this.tip.hidden = true;
    this.cursor.replaceChildren(
      S.svg('rect', {
        class: 'selection',
        x: from,
        width: Math.max(0, to - from),
        y: this.frame.top,
        height: this.frame.bottom - this.frame.top,
      }),
    );
  }

  clear() {
    this.at = null;
    this.tip.hidden = true;
    for (const chart of this.options.link || [this]) {
      if (chart.cursor) chart.cursor.replaceChildren();
    }
  }

  // The index of the point nearest to `at`, by bisection: x never falls.
  nearest(s, at) {
    let [low, high] = [0, s.y.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (s.x(middle) < at) low = middle;
      else high = middle;
    }
    return Math.abs(s.x(low) - at) <= Math.abs(s.x(high) - at) ? low : high;
  }

  pointAt(px, py) {
    const { left, right, top, bottom } = this.frame;
    if (px < left - 4 || px > right + 4) {
      this.clear();
      return;
    }
    this.at = px;
    const at = this.x.invert(px);
    for (const chart of this.options.link || []) if (chart !== this) chart.follow(at);
    let list = this.shown
      .filter((s) => s.y.length)
      .map((s) => {
        const i = this.nearest(s, at);
        return { s, value: s.y[i], x: s.x(i) };
      })
      .filter((entry) => entry.value !== null);
    const total = list.length;
    if (total > 12 && py !== undefined) {
      list.sort((a, b) => Math.abs(this.y(a.value) - py) - Math.abs(this.y(b.value) - py));
      list = list.slice(0, 12);
    }
    list.sort((a, b) => b.value - a.value);
    const dots = list.map((e) =>
      S.marker(S.shape(e.s.index), this.x(e.x), this.y(e.value), 4, {
        fill: S.colour(e.s.index),
        class: 'mark',
      }),
    );
    this.cursor.replaceChildren(
      S.svg('line', { class: 'cursor', x1: px, x2: px, y1: top, y2: bottom }),
      ...dots,
    );
    const rows = list.map((e) =>
      S.el(
        'tr',
        {},
        S.el(
          'td',
          {},
          S.el('span', { class: 'swatch', style: `background:${S.colour(e.s.index)}` }),
        ),
        S.el('td', {}, e.s.name),
        S.el('td', { class: 'num' }, S.show(e.value, this.options.unit)),
      ),
    );
    const heading = `${S.digits(at)} ${this.options.xUnit}`;
    this.tip.replaceChildren(
      S.el('strong', {}, heading),
      S.el('table', {}, S.el('tbody', {}, rows)),
      total > list.length ? S.el('em', {}, `and ${total - list.length} more`) : '',
    );
    this.tip.hidden = false;
    const wide = this.tip.offsetWidth;
    const place = px + 16 + wide > this.plot.clientWidth ? px - wide - 14 : px + 14;
    this.tip.style.left = `${Math.max(0, place)}px`;
  }

  follow(at) {
    if (!this.frame) return;
    const px = this.x(at);
    const { left, right, top, bottom } = this.frame;
    this.cursor.replaceChildren(
      ...(px >= left && px <= right
        ? [S.svg('line', { class: 'cursor', x1: px, x2: px, y1: top, y2: bottom })]
        : []),
    );
  }
};
S.Chart.count = 0;
