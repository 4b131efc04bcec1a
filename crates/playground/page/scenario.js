'use strict';
// A scenario as the controls have it: its text for `sojourn run`, and a link that carries it.
const Scenario = {};

Scenario.home = () => ({
  down: '20mbit',
  up: '5mbit',
  rtt: '30ms',
  qdisc: 'pfifo',
  ecn: false,
  flows: [
    { count: '1', way: 'down', app: 'bulk', cc: 'cubic' },
    { count: '1', way: 'up', app: 'bulk', cc: 'cubic' },
  ],
  duration: '60s',
  warmup: '10s',
  seed: '1',
});

// Uploads of Prague and of CUBIC with ECN behind DualPI2: the L and the C queue.
Scenario.l4s = () => ({
  ...Scenario.home(),
  up: '20mbit',
  qdisc: 'dualpi2',
  ecn: true,
  flows: [
    { count: '1', way: 'up', app: 'bulk', cc: 'prague' },
    { count: '1', way: 'up', app: 'bulk', cc: 'cubic' },
  ],
});

// What the controls can begin with.
Scenario.examples = [
  ['A home line', Scenario.home],
  ['L4S: Prague beside CUBIC', Scenario.l4s],
];

// The traffic models that need no parameters, from the simulator's catalogue by their names:
// what each is called, and whether its TCP can be chosen.
Scenario.apps = {};
Scenario.offer = (apps) => {
  for (const { name, title, tcp } of apps) Scenario.apps[name] = { title, tcp };
};

// A whole number stays one, whatever else was written becomes a string, which is refused in words.
Scenario.number = (text) =>
  /^\d{1,18}$/.test(text) ? text.replace(/^0+(?=\d)/, '') : Scenario.quoted(text);

Scenario.quoted = (text) => JSON.stringify(text).replaceAll('\u007f', '\\u007f');

Scenario.flow = ({ count, way, app, cc }, names) => {
  const { tcp } = Scenario.apps[app] || {};
  const first = `${app === 'bulk' ? cc : app}-${way}`;
  let name = first;
  // Letters: numbers are what the flows of a count are told apart by.
  for (let i = 11; names.has(name); i += 1) name = `${first}-${i.toString(36)}`;
  names.add(name);
  return [
    '',
    '[[flow]]',
    `name = ${Scenario.quoted(name)}`,
    ...(count === '1' ? [] : [`count = ${Scenario.number(count)}`]),
    `direction = ${Scenario.quoted(way)}`,
    `app = ${Scenario.quoted(app)}`,
    ...(tcp ? [`tcp = { cc = ${Scenario.quoted(cc)} }`] : []),
  ];
};

// The text of what the controls say.
Scenario.toml = (state) => {
  const { quoted } = Scenario;
  const names = new Set(['ping']);
  return `${[
    'format = "sojourn-scenario/1"',
    'name = "playground"',
    `duration = ${quoted(state.duration)}`,
    `warmup = ${quoted(state.warmup)}`,
    `seeds = [${Scenario.number(state.seed)}]`,
    '',
    '[dumbbell]',
    `rtt = ${quoted(state.rtt)}`,
    `down = { rate = ${quoted(state.down)} }`,
    `up = { rate = ${quoted(state.up)} }`,
    `qdisc = ${quoted(state.qdisc)}`,
    ...(state.ecn ? ['', '[tcp]', 'ecn = true'] : []),
    ...state.flows.flatMap((flow) => Scenario.flow(flow, names)),
    '',
    '[[flow]]',
    'name = "ping"',
    'direction = "up"',
    'app = "ping"',
  ].join('\n')}\n`;
};

// The words that stand in a link as they are in the controls.
Scenario.words = ['down', 'up', 'rtt', 'qdisc', 'duration', 'warmup', 'seed'];

Scenario.fragment = (state) => {
  const link = new URLSearchParams(Scenario.words.map((word) => [word, state[word]]));
  if (state.ecn) link.set('ecn', 'true');
  for (const { count, way, app, cc } of state.flows) {
    const { tcp } = Scenario.apps[app] || {};
    link.append('flow', [count, way, app, ...(tcp ? [cc] : [])].join(' '));
  }
  return link.toString();
};

// What a link's fragment says of the controls; what it leaves out is as at home, but a line with
// no flows has none.
Scenario.ofFragment = (link) => {
  const state = Scenario.home();
  for (const word of Scenario.words) if (link.has(word)) state[word] = link.get(word);
  state.ecn = link.get('ecn') === 'true';
  if (link.has('flow')) state.flows = link.getAll('flow').map(Scenario.ofWords);
  else if (link.has('down')) state.flows = [];
  return state;
};

// What is not known here is refused where all scenarios are read.
Scenario.ofWords = (words) => {
  const [count, way = '', app = '', cc = 'cubic'] = words.split(' ');
  return { count, way, app, cc };
};

// A text for a link: deflated (RFC 1951), in the URL's own base64 (RFC 4648, section 5).
Scenario.packed = async (text) => {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return window.btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
};

Scenario.unpacked = async (packed) => {
  const letters = window.atob(packed.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).text();
};
