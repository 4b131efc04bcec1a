'use strict';
// The page: what the controls or the text say is run by the worker, drawn, and put into the link.

const Playground = class {
  constructor(catalogue, worker) {
    this.worker = worker;
    this.number = 0;
    this.kept = [];
    this.picture = null;
    this.byHand = false;
    S.data = { figures: catalogue.figures };
    Scenario.offer(catalogue.apps);
    S.by('version').textContent = catalogue.version;
    this.controls = new Controls(S.by('controls'), catalogue, () => this.changed());
    this.charts = new Charts(S.by('charts'));
    this.text = S.by('toml');
    this.listen();
    this.open();
  }

  listen() {
    const on = (id, act) => S.by(id).addEventListener('click', act);
    on('run', () => this.run());
    on('stop', () => this.stop());
    on('keep', () => this.keep());
    on('forget', () => this.forget());
    on('to-controls', () => this.toControls());
    on('copy-link', () => this.copy(window.location.href, 'Link copied.'));
    on('copy-toml', () => this.copy(this.text.value, 'Scenario copied.'));
    on('download', () =>
      P.download('playground.toml', new Blob([this.text.value], { type: 'application/toml' })),
    );
    S.by('cell').addEventListener('change', () => this.run());
    S.by('pace').addEventListener('change', () => this.run());
    S.by('open').addEventListener('change', async (event) => {
      const [file] = event.target.files;
      if (!file) return;
      this.text.value = await file.text();
      this.written();
    });
    this.text.addEventListener('input', () => this.written());
    window.addEventListener('hashchange', () => this.open());
  }

  // --- the scenario -------------------------------------------------------------------------

  // What the link says.
  async open() {
    const hash = window.location.hash.slice(1);
    if (hash && hash === this.fragment) return;
    const link = new URLSearchParams(hash);
    if (!link.has('toml')) {
      this.controls.set(Scenario.ofFragment(link));
      this.changed();
      return;
    }
    try {
      this.text.value = await Scenario.unpacked(link.get('toml'));
    } catch {
      this.fail('The link is damaged: its scenario cannot be unpacked. Copy it once more.');
      return;
    }
    this.written();
  }

  changed() {
    this.setByHand(false);
    this.text.value = Scenario.toml(this.controls.state);
    this.setFragment(Scenario.fragment(this.controls.state));
    this.soon();
  }

  async written() {
    this.setByHand(true);
    this.soon();
    this.setFragment(`toml=${await Scenario.packed(this.text.value)}`);
  }

  toControls() {
    this.changed();
    S.by('controls').scrollIntoView();
  }

  setByHand(byHand) {
    this.byHand = byHand;
    S.by('by-hand').hidden = !byHand;
    S.by('controls').classList.toggle('aside', byHand);
  }

  // The link in the address bar, without a step in the history for each change.
  setFragment(fragment) {
    this.fragment = fragment;
    window.history.replaceState(null, '', `#${fragment}`);
  }

  async copy(text, said) {
    try {
      await navigator.clipboard.writeText(text);
      S.by('copied').textContent = said;
    } catch {
      S.by('copied').textContent = 'The browser does not let the page copy: take it from above.';
    }
  }

  // --- the run ------------------------------------------------------------------------------

  // A run begins when nothing has changed for a moment.
  soon() {
    clearTimeout(this.timer);
    S.by('cell').value = '0';
    this.timer = setTimeout(() => this.run(), 200);
  }

  run() {
    clearTimeout(this.timer);
    this.number += 1;
    S.by('stop').disabled = false;
    S.by('digest-line').hidden = true;
    S.by('keep').disabled = true;
    this.worker.postMessage({
      number: this.number,
      toml: this.text.value,
      cell: Number(S.by('cell').value) || 0,
      pace: Number(S.by('pace').value),
    });
  }

  stop() {
    this.worker.postMessage({ stop: true });
    this.number += 1;
    this.say('Stopped.');
    this.ended();
  }

  ended() {
    S.by('stop').disabled = true;
  }

  hear(message) {
    if (message.number !== this.number) return;
    if (message.failure) {
      this.wrong([]);
      this.fail(message.failure);
    }
    if (message.problems) this.wrong(message.problems);
    if (message.started) this.started(message.started);
    if (message.piece) this.piece(message.piece);
    if (message.done) this.done(message.done);
  }

  started(started) {
    this.fail('');
    this.wrong([]);
    const index = Math.min(Number(S.by('cell').value) || 0, started.cells.length - 1);
    const queue = this.byHand ? started.cells[index].queues[0].qdisc : this.controls.state.qdisc;
    this.picture = new Picture(queue, started, index);
    this.showCells(started.cells, index);
    S.by('progress').max = this.picture.duration;
  }

  showCells(cells, index) {
    const name = ({ params, seed }) => {
      const parts = params.map(([field, value]) => `${field.split('.').pop()} ${value}`);
      return [...parts, `seed ${seed}`].join(' · ');
    };
    S.by('cells').hidden = cells.length < 2;
    S.by('cell').replaceChildren(...cells.map((cell, i) => S.option(i, name(cell), i === index)));
  }

  piece({ now, points }) {
    this.picture.show(points);
    S.by('progress').value = now;
    this.say(`${S.digits(now)} s of ${S.digits(this.picture.duration)} s`);
    this.draw();
  }

  done({ now, points, figures, digest, events, took }) {
    this.picture.show(points);
    S.by('progress').value = now;
    const seconds = took / 1000;
    this.say(
      `${S.digits(now)} s of the line in ${S.digits(seconds, 2)} s: ` +
        `${S.digits(events)} events, ${S.digits(now / seconds, 2)} times as fast as time.`,
    );
    S.by('digest').textContent = digest;
    S.by('digest-line').hidden = false;
    S.by('keep').disabled = false;
    S.by('figures').hidden = false;
    Tables.draw(S.by('links'), 'link', figures.links);
    Tables.draw(S.by('flows'), 'flow', figures.flows);
    this.draw();
    this.ended();
  }

  // Once for each picture on the screen, however many pieces there are.
  draw() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.charts.draw([...this.kept, this.picture]);
    });
  }

  keep() {
    this.kept = [...this.kept, this.picture].slice(-3);
    S.by('keep').disabled = true;
    S.by('forget').hidden = false;
    this.say(`Kept: ${this.picture.name}. Change something, and it stays in the charts, dashed.`);
  }

  forget() {
    this.kept = [];
    S.by('forget').hidden = true;
    S.by('keep').disabled = false;
    this.draw();
  }

  // --- what is said -------------------------------------------------------------------------

  say(text) {
    S.by('said').textContent = text;
  }

  // Why there is no run that is nobody's mistake in the scenario; empty: there is one.
  fail(why) {
    S.by('failure').hidden = !why;
    S.by('failure').textContent = why;
    if (!why) return;
    this.say('');
    this.ended();
  }

  wrong(problems) {
    this.controls.mark(this.byHand ? [] : problems);
    const list = S.by('problems');
    list.hidden = !problems.length;
    if (!problems.length) return;
    this.fail('');
    const items = problems.map(({ line, column, field, message, help }) =>
      S.el(
        'li',
        {},
        S.el(
          'button',
          { type: 'button', class: 'small', onclick: () => this.show(line, column) },
          line === null ? 'the file' : `line ${line}, column ${column}`,
        ),
        S.el('span', {}, ` ${field ? `${field}: ` : ''}${message}`),
        help ? S.el('span', { class: 'note' }, ` ${help}`) : null,
      ),
    );
    list.replaceChildren(
      S.el('strong', {}, 'The scenario is not right; nothing was run.'),
      S.el('ul', {}, items),
    );
    this.say('');
    this.ended();
  }

  // Selects a line of the text from a column on.
  show(line, column) {
    const lines = this.text.value.split('\n');
    const before = lines.slice(0, (line || 1) - 1).reduce((sum, text) => sum + text.length + 1, 0);
    const end = before + (lines[(line || 1) - 1] || '').length;
    this.text.focus();
    this.text.setSelectionRange(Math.min(end, before + (column || 1) - 1), end);
  }
};

P.theme();
const worker = new Worker('worker.js');
let playground = null;
worker.onmessage = ({ data }) => {
  if (data.catalogue) playground = new Playground(data.catalogue, worker);
  else if (playground) playground.hear(data);
  else {
    S.by('failure').textContent = `The simulator could not be loaded: ${data.failure}`;
    S.by('failure').hidden = false;
  }
};
worker.onerror = () => {
  S.by('failure').textContent =
    'The simulator could not be started. The page needs a server, however small: '
    + 'python3 -m http.server, in its folder.';
  S.by('failure').hidden = false;
};
