// Rows of lists: verdicts, and tasks.
import { el, count, seconds, percent, reward, clock, day, KINDS, spoken } from './dom.js';

const DAY_S = 86400;

export function verdictRow(one) {
  const [sign, word] = KINDS[one.kind];
  const words = one.kind === 'passed' ? word : one.kind === 'failed' ? spoken(one.reason) : `no verdict: ${spoken(one.reason)}`;
  const outcome = el('span', { class: `badge ${one.kind}` }, `${sign} ${words}`);
  const link = el('a', { href: `/dashboard/verdicts/${encodeURIComponent(one.id)}` }, one.label);
  const marks = [one.tamper ? el('span', { class: 'badge no_verdict' }, `${one.tamper} tamper`) : null,
    one.tenant ? el('span', { class: 'tenant' }, one.tenant) : null,
    one.task ? el('a', { class: 'tenant', href: taskPath(one.task), 'aria-label': `All of task ${one.label}` }, 'task') : null];
  const old = Date.now() / 1000 - one.at > DAY_S;
  return el('tr', {}, el('td', {}, outcome), el('td', { class: 'task' }, link, ...marks.flatMap((mark) => (mark ? [' ', mark] : []))),
    el('td', { class: 'num' }, reward(one.reward)), el('td', { class: 'num wide-only' }, one.tests ? `${count(one.passed)}/${count(one.tests)}` : '–'),
    el('td', { class: `num wide-only${one.attempts > 1 ? ' no_verdict' : ''}` }, count(one.attempts)),
    el('td', { class: 'num' }, seconds(one.seconds)),
    el('td', { class: 'num' }, el('time', { datetime: new Date(one.at * 1000).toISOString() }, old ? day(one.at) : clock(one.at))));
}

export const taskPath = (digest) => `/dashboard/tasks/${encodeURIComponent(digest)}`;
export const rate = (value) => (value === null ? '–' : percent(value));
export const mean = (value) => (value === null ? '–' : value.toFixed(3));
export const shareOf = (number, of) => (of ? percent(number / of) : '–');

/** Name, value, note and class of each tile about what verdicts came to. */
export function sumTiles(sums) {
  return [
    ['Verdicts', count(sums.verifies), 'with those without one'],
    ['Pass rate', rate(sums.pass_rate), `${count(sums.passed)} passed, ${count(sums.failed)} failed`, 'passed'],
    ['Mean reward', mean(sums.reward), 'of those with a verdict'],
    ['Masked', shareOf(sums.no_verdict, sums.verifies), `${count(sums.no_verdict)} without a verdict`, sums.no_verdict ? 'no_verdict' : ''],
    ['With signs', shareOf(sums.signed, sums.verifies), `${count(sums.signed)} with signs of tampering`, sums.signed ? 'no_verdict' : ''],
    ['Mean verify', seconds(sums.seconds), 'from request to verdict'],
  ];
}

export function taskRow(one) {
  return el('tr', {}, el('th', { scope: 'row', class: 'task' }, el('a', { href: taskPath(one.digest) }, one.label)),
    el('td', { class: 'num' }, count(one.sums.verifies)), el('td', { class: 'num' }, rate(one.sums.pass_rate)),
    el('td', { class: 'num' }, mean(one.sums.reward)),
    el('td', { class: `num wide-only${one.sums.no_verdict ? ' no_verdict' : ''}` }, shareOf(one.sums.no_verdict, one.sums.verifies)),
    el('td', { class: `num${one.sums.signed ? ' no_verdict' : ''}` }, shareOf(one.sums.signed, one.sums.verifies)));
}
