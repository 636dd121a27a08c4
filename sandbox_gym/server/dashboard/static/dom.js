// Elements and numbers. Text of strangers goes through textContent alone; nothing here parses HTML.

export const byId = (id) => document.getElementById(id);

/** An element with attributes and children; strings become text. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function svg(tag, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export function text(node, value) {
  const wanted = String(value);
  if (node.textContent !== wanted) node.textContent = wanted;
}

/** Shows or hides, and says which. */
export function show(node, shown) {
  if (node.hidden === shown) node.hidden = !shown;
  return shown;
}

/** Children of `parent` by key: made once, filled each time, in the order of `items`. */
export function reconcile(parent, items, key, make, fill) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let child = old.get(name);
    if (child) old.delete(name);
    else {
      child = make(item);
      child.dataset.key = name;
    }
    fill(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const gone of old.values()) gone.remove();
}

/** Numbers with a name and a note: [name, value, note, class] each. */
export function tiles(parent, rows) {
  reconcile(parent, rows, ([name]) => name,
    ([name]) => el('div', { class: 'tile', 'data-tile': name }, el('h2', {}, name), el('p', { class: 'value' }), el('p', { class: 'note' })),
    (tile, [, value, note, kind]) => {
      text(tile.children[1], value);
      tile.children[1].className = `value ${kind || ''}`;
      text(tile.children[2], note);
    });
}

/** A definition list of [name, value] or [name, value, class]. */
export function facts(list, pairs) {
  reconcile(list, pairs.filter(([, value]) => value !== null && value !== undefined && value !== ''), ([name]) => name,
    ([name]) => el('div', {}, el('dt', {}, name), el('dd')),
    (row, [, value, kind]) => {
      text(row.lastChild, value);
      row.lastChild.className = kind || '';
    });
}

const whole = new Intl.NumberFormat('en');
export const count = (value) => whole.format(Math.round(value));

export function seconds(value) {
  if (value === null || value === undefined) return '–';
  if (value === 0) return '0';
  if (value < 0.001) return `${count(value * 1e6)} µs`;
  if (value < 1) return `${(value * 1000).toPrecision(value < 0.1 ? 2 : 3)} ms`;
  if (value < 100) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return value < 7200 ? `${count(value / 60)} min` : value < 172800 ? `${count(value / 3600)} h` : `${count(value / 86400)} d`;
}

export function bytes(value) {
  if (value === null || value === undefined) return '–';
  for (const [unit, size] of [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]]) {
    if (value >= size) return `${(value / size).toFixed(value >= 10 * size ? 0 : 1)} ${unit}`;
  }
  return `${count(value)} B`;
}

export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
export const reward = (value) => (value === null ? '–' : Number.isInteger(value) ? String(value) : value.toPrecision(3));

export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString('en-GB');
}

export function day(at) {
  return new Date(at * 1000).toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
}

export function moment(at) {
  return new Date(at * 1000).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
}

export const KINDS = { passed: ['✓', 'passed'], failed: ['✕', 'failed'], no_verdict: ['∅', 'no verdict'] };
export const spoken = (reason) => reason.replaceAll('_', ' ');

/** JSON from the server; to the log-in where it no longer knows us. An error that the server told has `answered`. */
export async function ask(path, options = {}) {
  const answer = await fetch(path, { credentials: 'same-origin', ...options });
  if (answer.status === 401) {
    location.assign('/dashboard/login');
    throw new Error('logged out');
  }
  const document_ = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(document_.detail || `HTTP ${answer.status}`), { answered: true });
  return document_;
}
