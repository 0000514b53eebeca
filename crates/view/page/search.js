// The search language for saved files, where no server is there to ask. `search.rs` says what the terms mean.

const SIZE_UNITS = { '': 1, b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };
const SIGNS = { '>': (a, b) => a > b, '>=': (a, b) => a >= b, '<': (a, b) => a < b, '<=': (a, b) => a <= b, '=': (a, b) => a === b };

const PLACES = {
  function: (it, word) => it.stack.some((line) => has(line.function, word)),
  file: (it, word) => it.stack.some((line) => has(line.file, word)),
  module: (it, word) => has(it.module, word),
  category: (it, word) => it.category.startsWith(word),
  phase: (it, word) => it.born?.phase?.startsWith(word) ?? false,
  step: (it, word) => it.born?.step === Number(word),
};

/** A test for allocations with their stacks. */
export function matcher(query) {
  const tests = query.toLowerCase().split(/\s+/).filter(Boolean).map(termOf);
  return (it) => tests.every((test) => test(it));
}

function termOf(text) {
  if (text.length > 1 && text.startsWith('-')) {
    const test = termOf(text.slice(1));
    return (it) => !test(it);
  }
  return sizeTerm(text) ?? placeTerm(text) ?? wordTerm(text);
}

function sizeTerm(text) {
  const [, sign, number, unit] = text.match(/^size(>=|<=|>|<|=)([\d.]+)\s*([a-z]*)$/) ?? [];
  const factor = SIZE_UNITS[unit?.replace(/i?b?$/, (end) => (end === 'b' ? 'b' : ''))] ?? SIZE_UNITS[unit];
  return factor && ((it) => SIGNS[sign](it.bytes, Number(number) * factor));
}

function placeTerm(text) {
  const [place, ...rest] = text.split(':');
  return rest.length && PLACES[place] ? (it) => PLACES[place](it, rest.join(':')) : undefined;
}

function wordTerm(word) {
  if (word === 'alive') return (it) => !it.died;
  return (it) => has(it.category, word) || has(it.module, word) || PLACES.function(it, word) || PLACES.file(it, word);
}

function has(text, word) {
  return text.toLowerCase().includes(word);
}
