// Two windows side by side: before and after a moment, or two steps of a run.
import { byId, el, text, show, count, seconds, ask, day } from './dom.js';
import { rate, mean, shareOf, taskPath } from './list.js';
import { heard, unheard } from './down.js';

const LIKELY = 3;
const form = byId('windows');
const value = (name) => form.elements[name].value.trim();

function local(at) {
  const date = new Date((at - new Date(at * 1000).getTimezoneOffset() * 60) * 1000);
  return date.toISOString().slice(0, 16);
}

function begin() {
  const given = new URLSearchParams(location.search);
  form.elements.moment.value = local(Math.floor(Date.now() / 1000) - 3600);
  for (const field of form.elements) if (field.name && field.type !== 'radio' && given.get(field.name)) field.value = given.get(field.name);
  const by = given.get('by') === 'step' ? 'step' : 'time';
  form.querySelector(`input[name=by][value=${by}]`).checked = true;
  shown();
  if (given.get('by')) compare();
}

function shown() {
  const by = value('by');
  show(byId('by-time'), by === 'time');
  show(byId('by-step'), by === 'step');
}

function windows() {
  const asked = new URLSearchParams({ text: value('text'), tenant: value('tenant') });
  if (value('by') === 'time') {
    const at = new Date(value('moment')).getTime() / 1000;
    if (!Number.isFinite(at)) return null;
    const length = Number(value('window'));
    for (const [name, number] of [['a_since', at - length], ['a_until', at], ['b_since', at], ['b_until', at + length]]) asked.set(name, String(Math.max(0, number)));
    return [asked, `before ${day(at)}`, `after ${day(at)}`];
  }
  const [a, b, around] = ['step_a', 'step_b', 'around'].map((name) => Math.max(0, Math.round(Number(value(name)))));
  for (const [name, step] of [['a', a], ['b', b]]) {
    asked.set(`${name}_step_from`, String(Math.max(0, step - around)));
    asked.set(`${name}_step_to`, String(step + around));
  }
  asked.set('run', value('run'));
  asked.set('b_run', value('b_run'));
  return [asked, `step ${count(a)} ± ${count(around)}`, `${value('b_run') ? `${value('b_run')}, ` : ''}step ${count(b)} ± ${count(around)}`];
}

async function compare() {
  const made = windows();
  if (!made) return;
  const [asked, before, after] = made;
  const kept = new URLSearchParams([...new FormData(form)].filter(([, one]) => one));
  window.history.replaceState(null, '', `?${kept}`);
  try {
    const found = await ask(`/dashboard/api/compare?${asked}`);
    heard();
    draw(found, before, after);
    show(byId('problem'), false);
  } catch (error) {
    if (!error.answered) unheard();
    text(byId('problem'), `That can't be compared: ${error.message}.`);
    show(byId('problem'), true);
  }
}

function change(a, b, points = true) {
  if (a === null || b === null) return '–';
  const by = points ? 100 * (b - a) : b - a;
  const sign = by > 0 ? '+' : by < 0 ? '−' : '±';
  return `${sign}${Math.abs(by).toFixed(points ? 1 : 3)}${points ? ' pp' : ''}`;
}

function verdictOn(likely) {
  if (Math.abs(likely) < LIKELY) return el('span', { class: 'badge quiet' }, 'may be chance');
  return likely > 0 ? el('span', { class: 'badge passed' }, '▲ better') : el('span', { class: 'badge failed' }, '▼ worse');
}

function draw(found, before, after) {
  show(byId('result'), true);
  const { a, b } = found;
  text(byId('name-a'), before);
  text(byId('name-b'), after);
  const none = (sums) => (sums.verifies ? sums.no_verdict / sums.verifies : null);
  const signed = (sums) => (sums.verifies ? sums.signed / sums.verifies : null);
  const rows = [
    ['Verdicts', count(a.verifies), count(b.verifies), ''],
    ['Pass rate', rate(a.pass_rate), rate(b.pass_rate), change(a.pass_rate, b.pass_rate), verdictOn(found.likely)],
    ['Mean reward', mean(a.reward), mean(b.reward), change(a.reward, b.reward, false)],
    ['Masked', shareOf(a.no_verdict, a.verifies), shareOf(b.no_verdict, b.verifies), change(none(a), none(b))],
    ['With signs', shareOf(a.signed, a.verifies), shareOf(b.signed, b.verifies), change(signed(a), signed(b))],
    ['Mean verify', seconds(a.seconds), seconds(b.seconds), ''],
  ];
  byId('sums').replaceChildren(...rows.map(([name, one, other, by, mark]) => el('tr', {}, el('th', { scope: 'row' }, name),
    el('td', { class: 'num' }, one), el('td', { class: 'num' }, other), el('td', { class: 'num change' }, by, mark ? ' ' : null, mark))));
  const all = found.tasks.length < found.compared ? `the ${count(found.tasks.length)} that moved most of ` : '';
  text(byId('tasks-note'), `${all}${count(found.compared)} tasks that are in both${found.cut ? '; more were left out' : ''}`);
  byId('tasks').replaceChildren(...found.tasks.map((one) => el('tr', {},
    el('th', { scope: 'row', class: 'task' }, el('a', { href: taskPath(one.digest) }, one.label)),
    el('td', { class: 'num' }, `${rate(one.a.pass_rate)} of ${count(one.a.verifies)}`), el('td', { class: 'num' }, `${rate(one.b.pass_rate)} of ${count(one.b.verifies)}`),
    el('td', { class: 'num change' }, change(one.a.pass_rate, one.b.pass_rate), ' ', verdictOn(one.likely)))));
  show(byId('tasks').closest('table'), found.tasks.length > 0);
}

form.addEventListener('change', shown);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  compare();
});
begin();
