// Colours: told apart with any kind of colour vision, on light and on dark.

// After Okabe and Ito's palette; neighbours in the stack differ in lightness too.
const CATEGORY_COLOURS = {
  'parameter': '#2f6db5',
  'buffer': '#74b9e6',
  'optimizer-state': '#7d62b3',
  'gradient': '#1f9d78',
  'activation': '#e8a21c',
  'input': '#f2df6b',
  'workspace': '#94704a',
  'temporary': '#d487ab',
  'unknown': '#9aa0a8',
};

// After Paul Tol's bright and light sets.
const OTHER_COLOURS = [
  '#4477aa', '#66c2e6', '#2b8f4b', '#ccbb44', '#ee6677', '#aa4488', '#ee8866', '#77aadd', '#44bb99', '#a8b83a', '#a07d2c',
];
const REST_COLOUR = '#9aa0a8';

const THEMES = {
  light: {
    background: '#ffffff', grid: '#e9ebef', ink: '#1b1d21', soft: '#5b616b', idle: '#eef0f3', hidden: '#dcdfe5',
    reserved: '#4a5058', limit: '#b3171e', second: '#111318', select: '#111318', low: '#00000038', hole: '#ffffff', strip: '#c9ced6',
    phases: ['#d8dbe1', '#bcd3ee', '#e7cfa0', '#b9dccb', '#dcc8e6', '#e3c6c6'],
  },
  dark: {
    background: '#14161a', grid: '#252931', ink: '#e7e9ed', soft: '#a9b0bb', idle: '#1d2127', hidden: '#363c46',
    reserved: '#b9c0cb', limit: '#ff7b72', second: '#ffffff', select: '#ffffff', low: '#ffffff40', hole: '#14161a', strip: '#474e59',
    phases: ['#3a3f48', '#2f4a6d', '#6a5527', '#2c5a49', '#533f63', '#633b3b'],
  },
};

const DARK = matchMedia('(prefers-color-scheme: dark)');

export function theme() {
  return DARK.matches ? THEMES.dark : THEMES.light;
}

export function onThemeChange(action) {
  DARK.addEventListener('change', action);
}

/** One colour per group of a grouping. */
export function groupColours(grouping) {
  if (grouping.id === 'category') return grouping.groups.map((group) => CATEGORY_COLOURS[group.name] ?? REST_COLOUR);
  return grouping.groups.map((group, at) => (group.rest ? REST_COLOUR : OTHER_COLOURS[at % OTHER_COLOURS.length]));
}

/** `#rrggbb` as three numbers. */
export function rgb(colour) {
  const n = parseInt(colour.slice(1, 7), 16);
  return [n >> 16 & 255, n >> 8 & 255, n & 255];
}

export const PHASES = ['init', 'forward', 'backward', 'optimizer', 'eval', 'save'];
