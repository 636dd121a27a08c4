// Searches and charts over the journal. What is searched for stands in the address, so that it can be kept and shared.
import { byId, text, show, tiles, reconcile, count, ask, KINDS, spoken } from './dom.js';
import { bar, barRow } from './charts.js';
import { History } from './chart.js';
import { verdictRow, taskRow, sumTiles } from './list.js';
import { heard, unheard } from './down.js';

const WAIT_MS = 150;
const FIELDS = ['text', 'outcome', 'tenant', 'period', 'run', 'axis', 'sign', 'reason', 'task'];
const form = byId('search');
const charts = new History(byId('shares'), byId('counts'), byId('reading'));
let asked = 0;
let next = '';
let waiting = null;

function read() {
  const given = new URLSearchParams(location.search);
  for (const name of FIELDS) if (form.elements[name]) form.elements[name].value = given.get(name) || form.elements[name].dataset.first || '';
}

/** The form as a query; of a period its beginning. */
function query() {
  const given = new URLSearchParams();
  for (const name of FIELDS) {
    const value = form.elements[name]?.value.trim();
    if (value && value !== (form.elements[name].dataset.first || '')) given.set(name, value);
  }
  const shown = given.toString();
  window.history.replaceState(null, '', shown ? `?${shown}` : location.pathname);
  const period = Number(form.elements.period.value);
  given.delete('period');
  if (period) given.set('since', String(Math.floor(Date.now() / 1000 - period)));
  return given;
}

async function search(before = '') {
  const number = ++asked;
  const given = query();
  if (before) given.set('before', before);
  byId('results').setAttribute('aria-busy', 'true');
  const started = performance.now();
  try {
    const found = await ask(`/dashboard/api/verdicts?${given}`);
    if (number !== asked) return;
    heard();
    list(found, Boolean(before));
    document.documentElement.dataset.searchMs = String(Math.round(performance.now() - started));
    if (!before) await overview(given, number);
  } catch (error) {
    if (number === asked) problem(error);
  }
  byId('results').removeAttribute('aria-busy');
}

function problem(error) {
  if (error.answered) heard();
  else unheard();
  show(byId('problem'), error.answered === true);
  text(byId('problem'), `That can't be shown: ${error.message}.`);
}

function list(found, more) {
  show(byId('problem'), false);
  next = found.next;
  const rows = found.verdicts.map((one) => verdictRow(one));
  if (more) byId('verdicts').append(...rows);
  else byId('verdicts').replaceChildren(...rows);
  const shown = byId('verdicts').children.length;
  show(byId('older'), Boolean(next));
  show(byId('verdicts').closest('table'), shown > 0);
  text(byId('found'), shown ? `${count(shown)}${next ? ' latest' : ''} shown` : 'No verdict matches.');
  text(byId('where'), found.where === 'memory' ? 'This server keeps no journal: only what is in memory is searched.' : '');
}

async function overview(given, number) {
  const seen = await ask(`/dashboard/api/history?${given}`);
  if (number !== asked) return;
  show(byId('overview'), true);
  tiles(byId('sums'), sumTiles(seen.sums));
  charts.draw(seen);
  show(byId('none'), !seen.bins.length);
  byId('tasks').replaceChildren(...seen.tasks.map(taskRow));
  const most = Math.max(1, ...seen.reasons.map((one) => one.count));
  reconcile(byId('reasons'), seen.reasons, (one) => `${one.kind} ${one.reason}`, () => barRow(), (row, one) => {
    const [sign, word] = KINDS[one.kind];
    bar(row, one.kind === 'no_verdict' ? `${sign} ${word}: ${spoken(one.reason)}` : `${sign} ${spoken(one.reason)}`, count(one.count), one.count / most, one.kind);
  });
  const more = seen.tasks.length === 50 ? 'the 50 with most verdicts' : '';
  text(byId('tasks-note'), more);
}

form.addEventListener('input', () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, WAIT_MS);
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  search();
});
byId('older').addEventListener('click', () => search(next));
read();
search();
