'use strict';
// The controls: a form over the state that `Scenario` makes a text and a link of.
//
// Every number has a field in tc's notation, which takes any, and a slider for the usual ones.

const Controls = class {
  // `catalogue`: what the simulator offers; `changed` is called with the state after each change.
  constructor(form, catalogue, changed) {
    this.form = form;
    this.catalogue = catalogue;
    this.changed = changed;
    this.state = Scenario.home();
    form.addEventListener('submit', (event) => event.preventDefault());
    this.build();
  }

  set(state) {
    this.state = state;
    this.build();
  }

  tell() {
    this.changed(this.state);
  }

  build() {
    this.fields = {};
    this.form.replaceChildren(
      this.group(
        'Begin with',
        ...Scenario.examples.map(([title, state]) =>
          S.el('button', { type: 'button', class: 'small', onclick: () => this.begin(state()) }, title),
        ),
      ),
      this.group(
        'Line',
        this.scaled('down', 'Rate down', Controls.rates),
        this.scaled('up', 'Rate up', Controls.rates),
        this.scaled('rtt', 'RTT of the empty path', Controls.times),
      ),
      this.queue(),
      this.traffic(),
      this.group(
        'Run',
        S.el(
          'div',
          { class: 'row' },
          this.text('duration', 'Length'),
          this.text('warmup', 'Warm-up'),
          this.text('seed', 'Seed'),
        ),
      ),
    );
  }

  begin(state) {
    this.set(state);
    this.tell();
  }

  group(title, ...children) {
    return S.el('fieldset', {}, S.el('legend', {}, title), ...children);
  }

  text(word, title) {
    const input = S.el('input', {
      type: 'text',
      name: word,
      value: this.state[word],
      spellcheck: 'false',
      autocapitalize: 'off',
      oninput: () => {
        this.state[word] = input.value;
        this.tell();
      },
    });
    this.fields[word] = input;
    return S.el('label', {}, title, input);
  }

  // A field with a slider whose steps are equal ratios.
  scaled(word, title, scale) {
    const label = this.text(word, title);
    const input = this.fields[word];
    const slider = S.el('input', {
      type: 'range',
      min: 0,
      max: scale.steps,
      'aria-label': title,
      'data-for': word,
      oninput: () => {
        const share = slider.value / scale.steps;
        input.value = scale.text(scale.low * (scale.high / scale.low) ** share);
        this.state[word] = input.value;
        this.tell();
      },
    });
    const follow = () => {
      const value = scale.number(input.value);
      const place = Math.log(value / scale.low) / Math.log(scale.high / scale.low);
      if (S.finite(place)) slider.value = Math.round(scale.steps * place);
    };
    follow();
    input.addEventListener('input', follow);
    return S.el('div', { class: 'scaled' }, label, slider);
  }

  // The discipline from a list, and behind it its options in tc's words.
  queue() {
    const [name, ...rest] = this.state.qdisc.trim().split(/\s+/);
    const known = this.catalogue.disciplines;
    const select = S.el(
      'select',
      {
        name: 'discipline',
        onchange: () => {
          options.value = known.find((one) => one.name === select.value).needs;
          join();
        },
      },
      Controls.options(known.map((one) => [one.name, one.name]), name),
    );
    const options = S.el('input', {
      type: 'text',
      name: 'options',
      value: rest.join(' '),
      placeholder: 'none: the defaults',
      spellcheck: 'false',
      autocapitalize: 'off',
      oninput: () => join(),
    });
    const about = S.el('p', { class: 'note' });
    const explained = S.el('pre', { tabindex: 0 });
    const show = () => {
      const one = known.find(({ name: each }) => each === select.value);
      about.textContent = one ? `${one.summary}. For example: ${one.example}` : '';
      explained.textContent = one ? one.explained : '';
    };
    const join = () => {
      this.state.qdisc = `${select.value} ${options.value}`.trim();
      show();
      this.tell();
    };
    show();
    this.fields.qdisc = options;
    return this.group(
      'Queue, both ways',
      S.el('label', {}, 'Discipline', select),
      S.el('label', {}, 'Options, in tc’s words', options),
      about,
      S.el(
        'details',
        { class: 'explained' },
        S.el('summary', {}, 'Options and their defaults'),
        explained,
      ),
      S.el(
        'label',
        { class: 'check' },
        S.el('input', {
          type: 'checkbox',
          name: 'ecn',
          checked: this.state.ecn,
          onchange: (event) => {
            this.state.ecn = event.target.checked;
            this.tell();
          },
        }),
        'Senders use ECN',
      ),
    );
  }

  traffic() {
    const more = S.el(
      'button',
      {
        type: 'button',
        class: 'small',
        onclick: () => {
          this.state.flows.push({ count: '1', way: 'down', app: 'bulk', cc: 'cubic' });
          this.build();
          this.tell();
          [...this.form.querySelectorAll('[name=app]')].pop().focus();
        },
      },
      'Add flows',
    );
    const rows = this.state.flows.map((flow, place) => this.flow(flow, place));
    const note = S.el('p', { class: 'note' }, 'A ping every 100 ms measures beside them.');
    return this.group('Traffic', ...rows, more, note);
  }

  flow(flow, place) {
    const choice = (name, title, items) => {
      const select = S.el(
        'select',
        {
          name,
          'aria-label': `${title} of flows ${place + 1}`,
          onchange: () => {
            flow[name] = select.value;
            this.tell();
          },
        },
        Controls.options(items, flow[name]),
      );
      return select;
    };
    const count = S.el('input', {
      type: 'number',
      name: 'count',
      min: 1,
      max: 100,
      value: flow.count,
      'aria-label': `Number of flows ${place + 1}`,
      oninput: () => {
        flow.count = count.value;
        this.tell();
      },
    });
    const apps = Object.entries(Scenario.apps).map(([app, { title }]) => [app, title]);
    const control = choice('cc', 'Congestion control', this.catalogue.controls.map((c) => [c, c]));
    const app = choice('app', 'Application', apps);
    const follow = () => {
      control.hidden = !Scenario.apps[app.value]?.tcp;
    };
    app.addEventListener('change', follow);
    follow();
    const less = S.el(
      'button',
      {
        type: 'button',
        class: 'small',
        'aria-label': `Remove flows ${place + 1}`,
        onclick: () => {
          this.state.flows.splice(place, 1);
          this.build();
          this.tell();
        },
      },
      '×',
    );
    const ways = [
      ['down', 'down'],
      ['up', 'up'],
    ];
    const way = choice('way', 'Direction', ways);
    return S.el('div', { class: 'flow' }, count, way, app, control, less);
  }

  // Marks the fields that problems are about.
  mark(problems) {
    for (const [word, input] of Object.entries(this.fields)) {
      const names = Controls.places[word];
      const wrong = problems.some(({ field }) => names.includes(field));
      if (wrong) input.setAttribute('aria-invalid', 'true');
      else input.removeAttribute('aria-invalid');
    }
  }
};

// The options of a list; what a link has chosen stands there too, known or not.
Controls.options = (items, chosen) => {
  const all = items.some(([value]) => value === chosen) ? items : [[chosen, chosen], ...items];
  return all.map(([value, text]) => S.option(value, text, value === chosen));
};

// Where a field's value stands in the scenario.
Controls.places = {
  down: ['dumbbell.down.rate'],
  up: ['dumbbell.up.rate'],
  rtt: ['dumbbell.rtt'],
  qdisc: ['dumbbell.qdisc'],
  duration: ['duration'],
  warmup: ['warmup'],
  seed: ['seeds'],
};

// Two digits, as one would write them.
Controls.rounded = (value) => Number(value.toPrecision(2));

Controls.scale = (low, high, units) => ({
  low,
  high,
  steps: 120,
  text: (value) => {
    const near = Controls.rounded(value);
    const [unit, factor] = units.find(([, each]) => near >= each) || units[units.length - 1];
    return `${Controls.rounded(near / factor)}${unit}`;
  },
  number: (text) => {
    const [, digits, unit] = /^([\d.]+)([a-z]+)$/i.exec(text.trim()) || [];
    const known = units.find(([name]) => name === (unit || '').toLowerCase());
    return known ? Number(digits) * known[1] : NaN;
  },
});

Controls.rates = Controls.scale(256e3, 1e9, [
  ['gbit', 1e9],
  ['mbit', 1e6],
  ['kbit', 1e3],
]);
Controls.times = Controls.scale(1e-3, 0.6, [
  ['s', 1],
  ['ms', 1e-3],
]);
