// Charts over time or steps, drawn by uPlot: stacked bars of verdicts, lines of shares. A canvas says nothing to those who
// don't see it: each has a label in words, and the numbers stand in a table beside it or in its reading.
import uPlot from './uplot/uPlot.esm.js';
import { text, count, percent, moment } from './dom.js';

const HEIGHT = 200;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const scheme = matchMedia('(prefers-color-scheme: dark)');

/** A chart in `host`. `series`: [name, CSS colour] each; `bars`: stacked, the first at the bottom. */
export class Chart {
  constructor(host, { series, bars = false, most = null, format = count, height = HEIGHT, reading = null }) {
    Object.assign(this, { host, series, bars, most, format, height, reading });
    this.axis = 'time';
    this.data = null;
    this.plot = null;
    new ResizeObserver(() => this.plot && this.plot.setSize(this.size())).observe(host);
    scheme.addEventListener('change', () => this.data && this.draw());
  }

  size() {
    return { width: Math.max(120, this.host.clientWidth), height: this.height };
  }

  /** `places`: on the axis; `values`: for each series as many, null where there is none. `words`: for the label. */
  set(axis, places, values, words, width = 1) {
    const anew = !this.plot || this.axis !== axis || this.width !== width;
    Object.assign(this, { axis, width, values });
    this.data = [places, ...(this.bars ? stacked(values) : values)];
    this.host.setAttribute('aria-label', words);
    if (anew) this.draw();
    else this.plot.setData(this.data);
  }

  draw() {
    if (this.plot) this.plot.destroy();
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const line = { stroke: colour('--line'), width: 1 };
    const axis = { stroke: colour('--muted'), font, ticks: { show: false }, grid: line };
    const [low, high] = [0, this.most];
    this.plot = new uPlot({
      ...this.size(),
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: !this.bars }, y: false },
      padding: [8, 28, 0, 0],
      scales: {
        x: { time: false, range: (plot, from, to) => [from, to + this.width] },
        y: { range: (plot, from, to) => [Math.min(low, from ?? 0), Math.max(high ?? 0, to ?? 0) * (high ? 1 : 1.1) || 1] },
      },
      axes: [
        { ...axis, grid: { show: false }, space: 64, size: 28, incrs: this.axis === 'time' ? TIMES : undefined,
          values: (plot, splits, index, space, step) => splits.map((place) => this.place(place, step)) },
        { ...axis, size: 48, space: 32, values: (plot, splits) => splits.map((value) => this.format(value)) },
      ],
      series: [{}, ...this.drawn()],
      hooks: { setCursor: [(plot) => this.read(plot.cursor.idx)] },
    }, this.data, this.host);
  }

  drawn() {
    const names = this.bars ? [...this.series].reverse() : this.series;
    const paths = this.bars ? uPlot.paths.bars({ size: [0.85, 48], align: 1 }) : undefined;
    const points = { show: this.data[0].length < 40, size: 5 };
    return names.map(([, name, dash]) => (this.bars
      ? { fill: colour(name), width: 0, paths, points: { show: false } }
      : { stroke: colour(name), width: dash ? 2 : 3, dash, spanGaps: true, points }));
  }

  place(at, step) {
    if (this.axis === 'step') return count(at);
    const date = new Date(at * 1000);
    const clock = { hour: '2-digit', minute: '2-digit', ...(step < 60 ? { second: '2-digit' } : {}) };
    const midnight = step >= 3600 && !date.getHours() && !date.getMinutes();
    return step < 86400 && !midnight ? date.toLocaleTimeString('en-GB', clock) : date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  }

  read(index) {
    if (!this.reading) return;
    if (index === null || index === undefined) return text(this.reading, '');
    const at = this.axis === 'step' ? `step ${count(this.data[0][index])}` : moment(this.data[0][index]);
    const said = this.series.map(([name], number) => [name, this.values[number][index]]).filter(([, value]) => value !== null);
    text(this.reading, `${at}: ${said.map(([name, value]) => `${this.format(value)} ${name}`).join(', ')}`);
  }
}

const TIMES = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800, 1209600, 2592000];

/** Running sums, the tallest first, so that each is drawn over the one before. */
function stacked(values) {
  const sums = [];
  values.forEach((row, index) => sums.push(index ? row.map((value, place) => value + sums[index - 1][place]) : row));
  return sums.reverse();
}

export const VERDICTS = [['passed', '--passed-fill'], ['failed', '--failed-fill'], ['without verdict', '--none-fill']];
export const SHARES = [['pass rate', '--passed-fill'], ['mean reward', '--busy-fill', [8, 8]]];
const share = (value) => percent(value);

/** The two charts of a history: shares above, verdicts below. */
export class History {
  constructor(shares, verdicts, reading) {
    this.shares = new Chart(shares, { series: SHARES, most: 1, format: (value) => value.toFixed(2), reading });
    this.verdicts = new Chart(verdicts, { series: VERDICTS, bars: true, height: 130, reading });
  }

  draw({ axis, start, width, bins, sums }) {
    const known = new Map(bins.map((bin) => [Math.round((bin.at - start) / width), bin.sums]));
    const last = Math.max(0, ...known.keys());
    const numbers = Array.from({ length: last + 1 }, (none, number) => number);
    const places = numbers.map((number) => start + number * width);
    const of = (name, otherwise) => numbers.map((number) => known.get(number)?.[name] ?? otherwise);
    const words = sums.pass_rate === null ? 'none' : `pass rate ${share(sums.pass_rate)}, mean reward ${sums.reward?.toFixed(3) ?? 'unknown'}, from ${trend(bins)}`;
    this.shares.set(axis, places, [of('pass_rate', null), of('reward', null)], `Pass rate and mean reward over ${axis}: ${words}`, width);
    this.verdicts.set(axis, places, ['passed', 'failed', 'no_verdict'].map((name) => of(name, 0)), `Verdicts over ${axis}: ${count(sums.verifies)} in all`, width);
  }
}

function trend(bins) {
  const rates = bins.map((bin) => bin.sums.pass_rate).filter((rate) => rate !== null);
  return rates.length ? `${share(rates[0])} at the beginning to ${share(rates.at(-1))} at the end` : 'nothing';
}
