// Numbers, as people read them.

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];

/** As `units::Bytes` writes it: two decimals below ten, one above, no trailing zeros. */
export function bytes(n) {
  if (Math.abs(n) < 1024) return `${Math.round(n)} B`;
  let value = n / 1024;
  let unit = 0;
  while (unit < UNITS.length - 1 && Math.abs(value) >= 1023.95) {
    value /= 1024;
    unit += 1;
  }
  return `${digits(value)} ${UNITS[unit]}`;
}

function digits(value) {
  const text = value.toFixed(Math.abs(value) < 9.995 ? 2 : 1);
  return text.replace(/\.?0+$/, '');
}

/** The same with a sign, for differences. */
export function signedBytes(n) {
  if (n === 0) return 'the same';
  return n < 0 ? `−${bytes(-n)}` : `+${bytes(n)}`;
}

export function count(n) {
  return Math.round(n).toLocaleString('en-US');
}

export function plural(n, word) {
  return `${count(n)} ${word}${n === 1 ? '' : 's'}`;
}

export function seconds(s) {
  if (!Number.isFinite(s)) return '';
  if (s < 1e-3) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${digits(s * 1e3)} ms`;
  if (s < 120) return `${s.toFixed(s < 10 ? 3 : 2).replace(/\.?0+$/, '')} s`;
  const minutes = Math.floor(s / 60);
  return minutes < 120 ? `${minutes} min ${Math.round(s % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function percent(part) {
  if (!Number.isFinite(part) || part === 0) return '';
  return part < 0.001 ? '<0.1%' : `${(part * 100).toFixed(part < 0.0995 ? 1 : 0)}%`;
}

/** The last part of a path. */
export function shortFile(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** A C++ function without its namespaces and arguments. */
export function shortFunction(name) {
  return name.replace(/\(.*$/, '').split('::').slice(-2).join('::');
}

/** An element with a class, a text and children. */
export function element(tag, className = '', ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

/** Runs only the last of a burst of calls, and only after a pause. */
export function settled(wait, action) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), wait);
  };
}
