'use strict';
// Box plots by cell: one row per cell and world, quantiles averaged over seeds.
//
// options: { title, note, quantity, unit, log, rows: [row] }
// row: { label, group, world, index, p5, p25, p50, p75, p95, p99, mean, ci }

S.Boxes = class {
  constructor(parent, options) {
    this.options = options;
    this.log = options.log;
    const button = S.el(
      'button',
      {
        type: 'button',
        class: 'small',
        'aria-pressed': this.log,
        title: 'Logarithmic axis',
        onclick: () => {
          this.log = !this.log;
          button.setAttribute('aria-pressed', this.log);
          this.draw();
        },
      },
      'log',
    );
    this.plot = S.el('div', { class: 'plot' });
    this.tip = S.el('div', { class: 'tip', hidden: true, role: 'status' });
    parent.append(
      S.el(
        'figure',
        { class: 'card chart wide' },
        S.el(
          'div',
          { class: 'chart-head' },
          S.el('h3', {}, options.title, ' ', S.el('span', { class: 'unit' }, options.unit)),
          S.el(
            'div',
            { class: 'tools' },
            button,
            P.saveMenu(
              options.title,
              () => this.plot.querySelector('svg'),
              () => this.table(),
            ),
          ),
        ),
        S.el('p', { class: 'note' }, options.note),
        S.el('div', { class: 'plot-box' }, this.plot, this.tip),
      ),
    );
    this.plot.addEventListener('pointerleave', () => this.hide());
    S.onResize(this.plot, () => this.draw());
  }

  hide() {
    this.tip.hidden = true;
  }

  table() {
    const keys = ['p5', 'p25', 'p50', 'p75', 'p95', 'p99', 'mean', 'ci'];
    const head = ['cell', 'world', ...keys.map((key) => `${key}, ${this.options.unit}`)];
    const rows = this.options.rows.map((r) => [
      r.group ? `${r.group} · ${r.label}` : r.label,
      r.world,
      ...keys.map((key) => (S.finite(r[key]) ? r[key] : '')),
    ]);
    return [head, ...rows];
  }

  limits() {
    const values = this.options.rows
      .flatMap((r) => [r.p5, r.p25, r.p50, r.p95, r.p99])
      .filter(S.finite);
    const high = Math.max(...values, 0);
    const positive = values.filter((v) => v > 0);
    if (this.log && positive.length) {
      return S.logLimits(Math.max(Math.min(...positive), high / 1e5), high);
    }
    const ticks = S.linearTicks(0, high || 1, 6);
    return [0, Math.max(high, ticks[ticks.length - 1]) || 1];
  }

  // Cells in order, each with its rows (one per world).
  cells() {
    const cells = [];
    for (const row of this.options.rows) {
      const last = cells[cells.length - 1];
      if (last && last.label === row.label && last.group === row.group) last.rows.push(row);
      else {
        const heading = row.group && (!last || last.group !== row.group) ? row.group : null;
        cells.push({ label: row.label, group: row.group, heading, rows: [row] });
      }
    }
    return cells;
  }

  // On paper a chart taller than a page is several, each with an axis.
  draw() {
    const width = this.plot.clientWidth;
    if (!width) return;
    const cells = this.cells();
    const parts = S.onPaper() ? this.pages(cells, width) : [cells];
    this.plot.closest('figure').classList.toggle('tall', parts.length > 1);
    this.plot.replaceChildren(...parts.map((part) => this.part(part, this.sizes(cells, width), width)));
    P.arrows([...this.plot.querySelectorAll('.box')], () => this.hide());
  }

  // Where the labels are, and the heights of rows, in pixels.
  sizes(cells, width) {
    const longest = Math.max(...cells.map((c) => c.label.length), 1) * 7.2 + 16;
    const above = longest > width * 0.36;
    return {
      above,
      left: above ? 12 : longest,
      rowHeight: cells.length > 20 ? 15 : 22,
      gap: cells.length > 20 ? 4 : 10,
      head: above ? 18 : 0,
      title: 20,
    };
  }

  room(cell, sizes) {
    const heading = cell.heading ? sizes.title : 0;
    return cell.rows.length * sizes.rowHeight + sizes.gap + sizes.head + heading;
  }

  // Cells of a page each. A group that goes on keeps its heading.
  pages(cells, width) {
    const [sizes, most] = [this.sizes(cells, width), 720];
    const [pages, height] = [[[]], (page) => page.reduce((sum, c) => sum + this.room(c, sizes), 0)];
    for (const cell of cells) {
      const page = pages[pages.length - 1];
      if (page.length === 0 || height(page) + this.room(cell, sizes) <= most) page.push(cell);
      else pages.push([{ ...cell, heading: cell.group }]);
    }
    return pages;
  }

  part(cells, sizes, width) {
    const { above, left, rowHeight, gap, head, title } = sizes;
    const lanes = cells.reduce((sum, c) => sum + this.room(c, sizes), 0);
    const frame = { left, right: width - 16, top: 6, bottom: 6 + lanes };
    const height = frame.bottom + 40;
    const [low, high] = this.limits();
    const x = S.axis(this.log && low > 0, low, high, frame.left, frame.right);
    [x.from, x.to] = [frame.left, frame.right];
    const root = S.svg('svg', {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'group',
      'aria-label': this.spoken(),
    });
    const count = (frame.right - frame.left) / 70;
    for (const tick of this.log && low > 0
      ? S.logTicks(low, high, count)
      : S.linearTicks(low, high, count)) {
      const px = x(tick);
      root.append(
        S.svg('line', { class: 'grid', x1: px, x2: px, y1: frame.top, y2: frame.bottom }),
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
      S.svg(
        'text',
        {
          class: 'tick title',
          x: (frame.left + frame.right) / 2,
          y: frame.bottom + 33,
          'text-anchor': 'middle',
        },
        `${this.options.quantity}, ${this.options.unit}`,
      ),
    );
    const boxes = [];
    let y = frame.top + gap / 2;
    for (const cell of cells) {
      if (cell.heading) {
        root.append(
          S.svg('text', { class: 'label group', x: 4, y: y + 13 }, cell.heading),
          S.svg('line', { class: 'grid', x1: 0, x2: width, y1: y - 1, y2: y - 1 }),
        );
        y += title;
      }
      const middle = y + (cell.rows.length * rowHeight) / 2;
      root.append(
        S.svg(
          'text',
          {
            class: 'label',
            x: above ? frame.left : frame.left - 10,
            y: above ? y + 13 : middle + 4,
            'text-anchor': above ? 'start' : 'end',
          },
          cell.label,
        ),
      );
      y += head;
      for (const row of cell.rows) {
        boxes.push(this.box(row, x, y + rowHeight / 2, Math.min(7, rowHeight / 2 - 2)));
        y += rowHeight;
      }
      y += gap;
    }
    root.append(...boxes);
    return root;
  }

  box(row, x, y, half) {
    if (!S.finite(row.p50)) return '';
    const colour = S.colour(row.index);
    const hollow = S.worlds.indexOf(row.world) > 0;
    const line = (from, to, extra) =>
      S.svg('line', { x1: from, x2: to, y1: y, y2: y, stroke: colour, ...extra });
    const group = S.svg(
      'g',
      { class: 'box', role: 'img', 'aria-label': this.text(row) },
      S.svg('rect', {
        x: 0,
        y: y - half - 3,
        width: this.plot.clientWidth,
        height: 2 * half + 6,
        fill: 'transparent',
      }),
      line(x(row.p5), x(row.p95), {
        'stroke-width': 1.5,
        'stroke-dasharray': hollow ? '4 3' : null,
      }),
      ...[row.p5, row.p95].map((v) =>
        S.svg('line', {
          x1: x(v),
          x2: x(v),
          y1: y - half * 0.6,
          y2: y + half * 0.6,
          stroke: colour,
          'stroke-width': 1.5,
        }),
      ),
      S.svg('rect', {
        x: x(row.p25),
        width: Math.max(2, x(row.p75) - x(row.p25)),
        y: y - half,
        height: 2 * half,
        rx: 2,
        stroke: colour,
        'stroke-width': 1.5,
        'stroke-dasharray': hollow ? '4 3' : null,
        fill: hollow ? 'var(--card)' : colour,
        'fill-opacity': hollow ? 1 : 0.28,
      }),
      S.svg('line', {
        x1: x(row.p50),
        x2: x(row.p50),
        y1: y - half,
        y2: y + half,
        stroke: colour,
        'stroke-width': 3.5,
      }),
      S.marker('diamond', x(row.p99), y, 2.6, { fill: colour }),
    );
    if (S.finite(row.ci)) {
      group.append(
        S.svg('line', {
          class: 'interval',
          x1: Math.max(x(Math.max(row.p50 - row.ci, 0)), x.from),
          x2: Math.min(x(row.p50 + row.ci), x.to),
          y1: y + half + 2,
          y2: y + half + 2,
        }),
      );
    }
    const at = (px, py) => this.point(row, px, py);
    group.addEventListener('pointermove', (event) => {
      const box = this.plot.getBoundingClientRect();
      at(event.clientX - box.left, event.clientY - box.top);
    });
    group.addEventListener('focus', () => at(x(row.p50), y));
    return group;
  }

  point(row, px, py) {
    const unit = this.options.unit;
    const lines = [
      ['5th percentile', row.p5],
      ['25th', row.p25],
      ['median', row.p50],
      ['75th', row.p75],
      ['95th', row.p95],
      ['99th (diamond)', row.p99],
      ['mean', row.mean],
      ['95 % interval of the median ±', row.ci],
    ];
    this.tip.replaceChildren(
      S.el('strong', {}, [row.label, row.group, row.world].filter(Boolean).join(', ')),
      S.el(
        'table',
        {},
        S.el(
          'tbody',
          {},
          lines
            .filter(([, v]) => S.finite(v))
            .map(([name, v]) =>
              S.el('tr', {}, S.el('td', {}, name), S.el('td', { class: 'num' }, S.show(v, unit))),
            ),
        ),
      ),
    );
    this.tip.hidden = false;
    const place =
      px + 18 + this.tip.offsetWidth > this.plot.clientWidth ? px - this.tip.offsetWidth - 16 : px + 16;
    this.tip.style.left = `${Math.max(0, place)}px`;
    this.tip.style.top = `${py + 8}px`;
  }

  text(row) {
    const name = [row.label, row.group, row.world].filter(Boolean).join(', ');
    const figure = (key) => S.show(row[key], this.options.unit);
    return `${name}: median ${figure('p50')}, 5 to 95 % ${figure('p5')} to ${figure('p95')}`;
  }

  spoken() {
    const rows = this.options.rows.filter((r) => S.finite(r.p50)).slice(0, 20);
    return `${this.options.title}: ${rows.map((row) => this.text(row)).join('; ')}`;
  }
};
