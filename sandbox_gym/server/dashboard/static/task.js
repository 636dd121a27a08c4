// A task's page: its numbers over time, its tests, its answers.
import { byId, el, text, show, tiles, count, reward, moment, ask, KINDS, spoken } from './dom.js';
import { History } from './chart.js';
import { verdictRow, sumTiles, shareOf } from './list.js';
import { heard, unheard } from './down.js';

const digest = location.pathname.split('/').pop();

async function load() {
  try {
    const page = await ask(`/dashboard/api/tasks/${encodeURIComponent(digest)}`);
    heard();
    draw(page);
    show(byId('task'), true);
    const [seen, found] = await Promise.all(['history', 'verdicts'].map((name) => ask(`/dashboard/api/${name}?task=${encodeURIComponent(digest)}`)));
    new History(byId('shares'), byId('counts'), byId('reading')).draw(seen);
    byId('verdicts').replaceChildren(...found.verdicts.slice(0, 30).map((one) => verdictRow({ ...one, task: '' })));
  } catch (error) {
    if (!error.answered) unheard();
    text(byId('problem'), `This task can't be shown: ${error.message}.`);
    show(byId('problem'), true);
  }
  byId('main').removeAttribute('aria-busy');
}

function draw(page) {
  document.title = `${page.label} — sandbox_gym`;
  text(byId('label'), page.label);
  text(byId('digest'), `task digest ${page.digest}`);
  byId('all').setAttribute('href', `/dashboard/history?task=${encodeURIComponent(page.digest)}`);
  tiles(byId('sums'), sumTiles(page.sums));
  text(byId('looked-at'), `of the latest ${count(page.looked_at)} verdicts`);
  show(byId('tests-panel'), page.tests.length > 0);
  byId('tests').replaceChildren(...page.tests.map(testRow));
  byId('answers').replaceChildren(...page.answers.map(answerRow));
}

function marks(one) {
  const made = [];
  if (one.flaky) made.push(el('span', { class: 'badge no_verdict' }, 'flaky'));
  if (one.hacked) made.push(el('span', { class: 'badge failed' }, 'passed with signs'));
  if (one.ran && !one.passed) made.push(el('span', { class: 'badge quiet' }, 'never passed'));
  return made.flatMap((mark) => [mark, ' ']);
}

function testRow(one) {
  return el('tr', {}, el('th', { scope: 'row' }, `#${one.index + 1} `, ...marks(one)), el('td', { class: 'num' }, count(one.ran)),
    el('td', { class: 'num' }, shareOf(one.passed, one.ran)), el('td', { class: 'num' }, count(one.flaky)), el('td', { class: 'num' }, count(one.hacked)));
}

function answerRow(one) {
  const [sign, word] = KINDS[one.kind];
  const rewards = one.least === null ? '–' : one.least === one.most ? reward(one.least) : `${reward(one.least)} to ${reward(one.most)}`;
  const words = one.kind === 'passed' ? word : spoken(one.reason);
  return el('tr', {}, el('th', { scope: 'row', class: 'task' }, el('a', { class: 'mono', href: `/dashboard/verdicts/${encodeURIComponent(one.id)}` }, one.digest.slice(0, 10)), ' ',
    el('span', { class: `badge ${one.kind}` }, `${sign} ${words}`), ...one.signs.flatMap((name) => [' ', el('span', { class: 'badge no_verdict' }, spoken(name))]),
    ...(one.least !== one.most ? [' ', el('span', { class: 'badge no_verdict' }, 'other rewards each time')] : [])),
  el('td', { class: 'num' }, count(one.times)), el('td', { class: 'num' }, rewards), el('td', { class: 'num wide-only' }, moment(one.at)));
}

load();
