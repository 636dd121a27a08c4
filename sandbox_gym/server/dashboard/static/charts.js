// Small drawings beside numbers: a pool's slots, ranges on a logarithmic scale, bars in lists.
import { el, svg, text, count } from './dom.js';

const MAX_SQUARES = 96;

/** A square for each slot while they can be counted, else one bar. */
export function slots(node, pool) {
  const limit = Math.min(pool.limit, pool.slots);
  const states = [];
  for (let index = 0; index < pool.slots; index += 1) {
    const warm = index >= pool.leased && index < pool.leased + pool.warm;
    states.push(index < pool.leased ? 'busy' : warm ? 'warm' : index >= limit ? 'shut' : 'free');
  }
  if (pool.slots > MAX_SQUARES) {
    const shares = ['busy', 'warm', 'free', 'shut'].map((state) => [state, states.filter((one) => one === state).length]);
    let x = 0;
    const bar = svg('svg', { viewBox: '0 0 1000 24', preserveAspectRatio: 'none', class: 'slot-bar' });
    for (const [state, number] of shares) {
      const width = (1000 * number) / pool.slots;
      bar.append(svg('rect', { x, y: 0, width, height: 24, class: state }));
      x += width;
    }
    node.replaceChildren(bar);
  } else if (node.dataset.states !== states.join()) {
    node.replaceChildren(...states.map((state) => el('span', { class: `slot ${state}` })));
    node.dataset.states = states.join();
  }
  node.setAttribute('aria-label',
    `${count(pool.leased)} of ${count(pool.slots)} slots busy, ${count(pool.warm)} warm, ${count(limit)} given out at most`);
}

const FROM = Math.log10(0.0001);
const TO = Math.log10(100);
const place = (value) => (100 * (Math.min(TO, Math.max(FROM, Math.log10(Math.max(value, 1e-9)))) - FROM)) / (TO - FROM);

/** From the median to the 95th percentile, 0.1 ms to 100 s. */
export function range(chart, low, high) {
  const from = place(low);
  const to = Math.max(place(high), from + 1.5);
  const ticks = [-3, -2, -1, 0, 1].map((power) => svg('line', { x1: place(10 ** power), x2: place(10 ** power), y1: 0, y2: 10, class: 'grid' }));
  chart.setAttribute('viewBox', '0 0 100 10');
  chart.replaceChildren(...ticks, svg('rect', { x: from, y: 2.5, width: to - from, height: 5, class: 'range' }));
}

/** One bar in a list: its label, its number, and a filling by its share. */
export function bar(row, label, number, share, kind) {
  const [name, value, track] = row.children;
  text(name, label);
  text(value, number);
  track.firstChild.setAttribute('width', String(Math.max(share > 0 ? 0.6 : 0, 100 * share)));
  track.firstChild.setAttribute('class', kind);
}

export function barRow(tag = 'span') {
  const track = svg('svg', { viewBox: '0 0 100 6', preserveAspectRatio: 'none', class: 'track', 'aria-hidden': 'true' });
  track.append(svg('rect', { x: 0, y: 0, height: 6, width: 0 }));
  return el('li', {}, el(tag, { class: 'name' }), el('span', { class: 'number' }), track);
}
