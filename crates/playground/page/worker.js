'use strict';
// The simulator, away from the page: takes a run forward piece by piece and tells the page of each.
//
// In: { number, toml, cell, pace } begins a run, { stop: true } ends it. Out: { catalogue } once it
// is ready, then of the run with this number { started }, { piece }s, and at the end { done } or
// what is wrong: { problems } or { failure }.

// A piece takes about so long: often enough for a chart that moves, seldom enough to cost little.
const PIECE_MS = 25;
const TICK_MS = 50;

let ask;
let current = null;

const load = async () => {
  const answer = await fetch('sojourn.wasm');
  if (!answer.ok) throw new Error(`sojourn.wasm: ${answer.status} ${answer.statusText}`);
  const { instance } = await WebAssembly.instantiate(await answer.arrayBuffer(), {});
  const module = instance.exports;
  const said = () => {
    const at = module.sojourn_answer_at();
    const bytes = new Uint8Array(module.memory.buffer, at, module.sojourn_answer_length());
    return JSON.parse(new TextDecoder().decode(bytes));
  };
  ask = (request) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const at = module.sojourn_room(bytes.length);
    new Uint8Array(module.memory.buffer, at, bytes.length).set(bytes);
    try {
      module.sojourn_answer();
    } catch (trap) {
      // What it has said last is why.
      return { failure: said().failure || `${trap}` };
    }
    return said();
  };
};

const start = ({ number, toml, cell, pace }) => {
  current = null;
  const started = ask({ ask: 'start', toml, cell });
  postMessage({ number, ...(started.cells ? { started } : started) });
  if (!started.cells) return;
  current = { number, pace, now: 0, step: 0.1, took: 0, since: performance.now() };
  forward(current);
};

// The next piece, unless another run has begun; between two the worker hears what the page says.
const forward = (run) => {
  if (run !== current) return;
  const before = performance.now();
  const paced = ((before - run.since) / 1000) * run.pace;
  const until = run.pace ? Math.max(paced, run.now) : run.now + run.step;
  const piece = ask({ ask: 'forward', until });
  const took = performance.now() - before;
  run.took += took;
  run.now = piece.now;
  if (took < PIECE_MS / 2) run.step *= 2;
  if (took > PIECE_MS * 2) run.step /= 2;
  const { number } = run;
  if (piece.failure || piece.digest) {
    current = null;
    postMessage({ number, ...(piece.failure ? piece : { done: { ...piece, took: run.took } }) });
    return;
  }
  postMessage({ number, piece });
  setTimeout(() => forward(run), run.pace ? TICK_MS : 0);
};

onmessage = ({ data }) => {
  if (data.stop) current = null;
  else start(data);
};

load().then(
  () => postMessage({ catalogue: ask({ ask: 'catalogue' }) }),
  (error) => postMessage({ failure: `${error.message || error}` }),
);
