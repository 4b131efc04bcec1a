'use strict';
// The table of all figures: filter, sort, download. Rows are made when they are looked at.

S.Figures = class {
  constructor() {
    this.columns = [
      ['world', 'World'],
      ['cell', 'Cell'],
      ['seed', 'Seed'],
      ['kind', 'Of'],
      ['name', 'Name'],
      ['figure', 'Figure'],
      ['stat', 'Statistic'],
      ['value', 'Value'],
      ['unit', 'Unit'],
    ];
    this.rows = this.collect();
    this.sort = null;
    this.page = 100;
    this.limit = this.page;
    this.build();
    this.update();
  }

  collect() {
    const rows = [];
    const { cells, statistics } = S.data;
    for (const run of S.data.runs) {
      const add = (kind, name, values) => {
        for (const [key, value] of Object.entries(values)) {
          const figure = S.figure(kind, key);
          const row = {
            world: run.world,
            cell: cells[run.cell],
            seed: run.seed,
            kind,
            name,
            figure: figure.title,
            key,
            meaning: figure.meaning,
            unit: figure.unit,
          };
          if (Array.isArray(value)) {
            value.forEach((v, i) =>
              rows.push({
                ...row,
                stat: statistics[i],
                value: v,
                unit: statistics[i] === 'count' ? 'samples' : row.unit,
              }),
            );
          } else if (value !== null) rows.push({ ...row, stat: '', value });
        }
      };
      for (const link of run.links) add('link', link.name, link.f);
      for (const flow of run.flows) add('flow', flow.name, flow.f);
      add('aggregate', '', run.aggregate);
    }
    return rows;
  }

  build() {
    const choices = (key, title) => {
      const values = [...new Set(this.rows.map((row) => row[key]).filter((v) => v !== ''))];
      if (values.length < 2) return null;
      const select = S.el(
        'select',
        { 'data-key': key, onchange: () => this.refilter() },
        S.option('', 'all'),
        values.map((v) => S.option(v, v)),
      );
      return S.el('label', {}, title, select);
    };
    this.text = S.el('input', {
      type: 'search',
      placeholder: 'words, e.g. probe p95',
      oninput: () => this.refilter(),
    });
    this.bar = S.el(
      'div',
      { class: 'bar' },
      S.el('label', {}, 'Filter', this.text),
      choices('world', 'World'),
      choices('cell', 'Cell'),
      choices('seed', 'Seed'),
      choices('name', 'Name'),
      choices('figure', 'Figure'),
      choices('stat', 'Statistic'),
      S.el('button', { type: 'button', onclick: () => this.download() }, 'Download CSV'),
    );
    this.count = S.el('p', { class: 'note', role: 'status' });
    this.head = S.el(
      'tr',
      {},
      this.columns.map(([key, title]) =>
        S.el(
          'th',
          {
            scope: 'col',
            'data-key': key,
            class: key === 'value' ? 'num' : null,
          },
          S.el('button', { type: 'button', onclick: () => this.sortBy(key) }, title),
        ),
      ),
    );
    this.body = S.el('tbody', {});
    this.more = S.el(
      'button',
      {
        type: 'button',
        onclick: () => {
          this.limit += 5 * this.page;
          this.show();
        },
      },
      'Show more',
    );
    S.by('figures-table').append(
      this.bar,
      this.count,
      S.el(
        'div',
        { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'All figures' },
        S.el('table', { class: 'data' }, S.el('thead', {}, this.head), this.body),
      ),
      this.more,
    );
  }

  refilter() {
    this.limit = this.page;
    this.update();
  }

  update() {
    const words = this.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = [...this.bar.querySelectorAll('select')]
      .filter((s) => s.value !== '')
      .map((s) => [s.dataset.key, s.value]);
    this.found = this.rows.filter(
      (row) =>
        chosen.every(([key, value]) => row[key] === value) &&
        words.every(
          (word) =>
            this.columns.some(([key]) => `${row[key]}`.toLowerCase().includes(word)) ||
            row.key.includes(word),
        ),
    );
    if (this.sort) {
      const { key, down } = this.sort;
      const compare =
        key === 'value' || key === 'seed'
          ? (a, b) => a[key] - b[key]
          : (a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0);
      this.found.sort((a, b) => (down ? -compare(a, b) : compare(a, b)));
    }
    this.show();
  }

  sortBy(key) {
    const down = this.sort && this.sort.key === key ? !this.sort.down : false;
    this.sort = { key, down };
    for (const th of this.head.children) {
      th.removeAttribute('aria-sort');
      if (th.dataset.key === key) th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    }
    this.update();
  }

  show() {
    const list = this.found.slice(0, this.limit);
    this.body.replaceChildren(
      ...list.map((row) =>
        S.el(
          'tr',
          {},
          this.columns.map(([key]) => {
            if (key === 'figure') {
              return S.el(
                'td',
                {},
                S.el('a', { href: `#def-${row.kind}-${row.key}`, title: row.meaning }, row.figure),
              );
            }
            if (key === 'value') return S.el('td', { class: 'num' }, S.digits(row.value, 5));
            return S.el('td', {}, row[key]);
          }),
        ),
      ),
    );
    this.count.textContent =
      `${list.length} of ${this.found.length} rows shown` +
      (this.found.length < this.rows.length ? ` (${this.rows.length} in all)` : '');
    this.more.hidden = list.length >= this.found.length;
  }

  download() {
    const head = ['world', 'cell', 'seed', 'kind', 'name', 'figure', 'statistic', 'value', 'unit'];
    const rows = this.found.map((r) => [
      r.world,
      r.cell,
      r.seed,
      r.kind,
      r.name,
      r.key,
      r.stat,
      r.value,
      r.unit,
    ]);
    P.saveCsv([head, ...rows], `${S.data.scenario}-figures`);
  }
};
