// A verdict's page. Outputs are asked for when somebody opens them.
import { byId, el, svg, text, show, facts, count, seconds, bytes, reward, moment, ask, KINDS, spoken } from './dom.js';
import { taskPath } from './list.js';

const id = location.pathname.split('/').pop();
const api = `/dashboard/api/verdicts/${encodeURIComponent(id)}`;
let start = 0;

async function load() {
  try {
    const page = await ask(`${api}?start=${start}`);
    draw(page);
    show(byId('verdict'), true);
  } catch (error) {
    text(byId('problem'), `This verdict can't be shown: ${error.message}.`);
    show(byId('problem'), true);
  }
  byId('main').removeAttribute('aria-busy');
}

function draw(page) {
  heading(page);
  byId('missing').replaceChildren(...page.missing.map((words) => el('p', { class: 'notice' }, words)));
  show(byId('tamper-panel'), page.tamper.length > 0);
  byId('tamper').replaceChildren(...page.tamper.map((one) =>
    el('li', {}, el('strong', {}, spoken(one.sign)), one.evidence ? el('span', { class: 'why' }, ` ${one.evidence}`) : null)));
  howJudged(page);
  times(page.timings_s, page.facts.finished_at - page.facts.started_at);
  show(byId('groups-panel'), page.groups.length > 0);
  facts(byId('groups'), page.groups.map((group) => [group.name, `${reward(group.points)} of ${reward(group.of)}`]));
  tests(page.tests);
  show(byId('runs-panel'), page.runs.rows.length > 0);
  byId('runs').replaceChildren(...page.runs.rows.map(runFold));
  byId('texts').replaceChildren(...[
    ['Answer', page.answer, true], ['Program taken from the answer', page.code], ['Task, as the row has it', page.task],
    ['Reply', page.reply], ['Settings it was judged by', page.settings],
  ].filter(([, shown]) => shown).map(([name, shown, open]) => textFold(name, shown, open)));
  byId('rejudge').disabled = !page.can_rejudge;
  if (!page.can_rejudge) text(byId('rejudged'), 'There is nothing on record to judge again.');
}

function kindOf(page) {
  if (page.facts.reward === null) return 'no_verdict';
  return page.facts.failure_reason || page.facts.reward <= 0 ? 'failed' : 'passed';
}

function heading(page) {
  const kind = kindOf(page);
  const [sign, word] = KINDS[kind];
  const why = page.facts.failure_kind || page.facts.failure_reason;
  text(byId('label'), page.label || 'Verdict');
  text(byId('id'), `${page.id}${page.where === 'journal' ? ', from the journal' : ''}`);
  byId('outcome').className = `outcome ${kind}`;
  byId('outcome').replaceChildren(el('strong', {}, page.facts.reward === null ? sign : reward(page.facts.reward)),
    el('span', {}, `${sign} ${word}${kind !== 'passed' && why ? `: ${spoken(why)}` : ''}`));
  document.title = `${word}: ${page.label || id} — sandbox_gym`;
}

function howJudged(page) {
  const has = page.facts;
  facts(byId('facts'), [
    ['Isolation', has.isolation], ['Integrity', spoken(has.integrity), has.integrity === 'in_process' ? 'no_verdict' : ''],
    ['Tamper signs', page.tamper.length ? count(page.tamper.length) : 'none seen'],
    ['Tries', count(has.attempts), has.attempts > 1 ? 'no_verdict' : ''], ['Contest verdict', has.contest], ['Decided by', has.decided_by],
    ['Server', has.server === has.verifier ? has.server : `${has.server} (${has.verifier})`], ['Provider', has.provider], ['Image', has.image],
    ['Tenant', page.tenant], ['Ended', moment(has.finished_at)], ['CPU limit', 'cpu_time_s' in has.limits ? seconds(has.limits.cpu_time_s) : ''],
    ['Wall limit', 'wall_time_s' in has.limits ? seconds(has.limits.wall_time_s) : ''],
    ['Memory limit', 'memory_bytes' in has.limits ? bytes(has.limits.memory_bytes) : ''],
    ['Task digest', has.task_digest.slice(0, 16), 'mono'],
  ]);
  if (show(byId('of-task'), page.has_task)) byId('of-task').firstChild.setAttribute('href', taskPath(has.task_digest));
}

const PHASES = ['queue', 'acquire', 'put', 'run', 'judge'];

function times(timings, total) {
  const known = [...PHASES.filter((name) => name in timings), ...Object.keys(timings).filter((name) => !PHASES.includes(name))];
  const rest = total - known.reduce((sum, name) => sum + timings[name], 0);
  const rows = [...known.map((name) => [name, timings[name]]), ['around it', Math.max(0, rest)]];
  const chart = byId('times-chart');
  chart.setAttribute('viewBox', '0 0 100 10');
  let x = 0;
  chart.replaceChildren(...rows.map(([, spent], index) => {
    const width = total > 0 ? (100 * spent) / total : 0;
    const part = svg('rect', { x, y: 0, width, height: 10, class: `part p${index % 6}` });
    x += width;
    return part;
  }));
  facts(byId('times'), [...rows.map(([name, spent]) => [name, seconds(spent)]), ['total', seconds(total), 'strong']]);
  [...byId('times').children].forEach((row, index) => row.setAttribute('class', index < rows.length ? `key p${index % 6}` : 'key'));
}

// -- tests and runs

function tests(page) {
  show(byId('tests-panel'), page.total > 0);
  const sums = new Map();
  for (const one of page.rows) sums.set(one.status, (sums.get(one.status) || 0) + 1);
  const part = page.rows.length < page.total ? ' of those shown' : '';
  text(byId('tests-sum'), `${count(page.total)} tests: ${[...sums].map(([status, number]) => `${count(number)} ${spoken(status)}`).join(', ')}${part}`);
  byId('tests').replaceChildren(...page.rows.map(testFold));
  only();
  if (show(byId('pager'), page.total > page.page)) {
    text(byId('range'), `${count(page.start + 1)} to ${count(page.start + page.rows.length)} of ${count(page.total)}`);
    byId('earlier').disabled = page.start === 0;
    byId('later').disabled = page.start + page.page >= page.total;
    byId('earlier').onclick = () => turn(-page.page);
    byId('later').onclick = () => turn(page.page);
  }
}

async function turn(by) {
  start = Math.max(0, start + by);
  await load();
  byId('tests-title').scrollIntoView();
}

function statusKind(status) {
  return status === 'passed' ? 'passed' : status === 'skipped' ? 'quiet' : status === 'checker_failed' ? 'no_verdict' : 'failed';
}

function costs(one) {
  if (!one.wall_time_s && !one.peak_memory_bytes) return '';
  return `${seconds(one.cpu_time_s)} CPU · ${seconds(one.wall_time_s)} wall · ${bytes(one.peak_memory_bytes)}`;
}

function testFold(one) {
  const summary = [el('span', { class: 'index' }, `#${one.index + 1}`),
    el('span', { class: `badge ${statusKind(one.status)}` }, spoken(one.status)),
    el('span', { class: 'why' }, one.reason), el('span', { class: 'side' }, costs(one))];
  const opens = one.judgement !== null && one.status !== 'skipped';
  const made = opens ? fold(summary, () => outputs(one.judgement, String(one.index), `Test ${one.index + 1}`)) : el('div', { class: 'flat' }, ...summary);
  made.dataset.passed = String(one.status === 'passed');
  return made;
}

function runFold(one) {
  return fold([el('span', { class: 'index' }, one.name), el('span', { class: `badge ${one.status === 'ok' ? 'passed' : 'failed'}` }, spoken(one.status)),
    el('span', { class: 'side' }, costs(one))], () => outputs(one.judgement, one.place, one.name));
}

/** A disclosure whose inside is fetched when it is first opened. */
function fold(summary, inside) {
  const made = el('details', {}, el('summary', {}, ...summary));
  made.addEventListener('toggle', async () => {
    if (!made.open || made.dataset.filled) return;
    made.dataset.filled = 'yes';
    const body = el('div', { class: 'inside' }, el('p', { class: 'note' }, 'Fetching…'));
    made.append(body);
    try {
      body.replaceChildren(...await inside());
    } catch (error) {
      body.replaceChildren(el('p', { class: 'error' }, error.message));
      delete made.dataset.filled;
      made.addEventListener('toggle', () => body.remove(), { once: true });
    }
  });
  return made;
}

async function outputs(judgement, place, name) {
  const run = await ask(`${api}/runs/${judgement}/${encodeURIComponent(place)}`);
  const first = run.parts[0];
  const pair = [];
  if (run.given) pair.push(block('Input', run.given, name));
  if (run.expected) pair.push(block('Expected output', run.expected, name));
  const made = [];
  for (const part of run.parts) {
    const ended = part.signal ? `signal ${part.signal}` : part.exit_code === null ? '' : `exit code ${part.exit_code}`;
    const line = [spoken(part.status), ended, part.detail === ended ? '' : part.detail].filter(Boolean).join(', ');
    if (run.parts.length > 1) made.push(el('h3', {}, part.name));
    made.push(el('p', { class: 'note' }, `Ended: ${line}.`));
    if (part.tamper.length) made.push(el('p', { class: 'error' }, `Tamper signs: ${part.tamper.map(spoken).join(', ')}`));
    const words = { stdout: 'Standard output', stderr: 'Standard error', channel: 'Channel (value of the call)' };
    const streams = Object.entries(part.streams).filter(([stream, shown]) => shown.total || stream === 'stdout');
    const blocks = streams.map(([stream, shown]) => block(words[stream], shown, `${name}, ${part.name}`, stream !== 'stdout'));
    made.push(el('div', { class: 'outputs' }, ...(part === first ? pair : []), ...blocks));
  }
  if (!run.parts.length) made.push(el('p', { class: 'note' }, 'It was not run.'), el('div', { class: 'outputs' }, ...pair));
  return made;
}

function size(shown) {
  return `${count(shown.total)} ${shown.unit}${shown.cut ? `, ${count(shown.cut)} not shown` : ''}`;
}

function block(name, shown, of, wide) {
  return el('figure', { class: wide ? 'whole' : null }, el('figcaption', {}, name, el('small', {}, size(shown))),
    shown.total ? el('pre', { tabindex: '0', role: 'region', 'aria-label': `${name}, ${of}` }, shown.text) : el('p', { class: 'empty' }, 'Nothing.'));
}

function textFold(name, shown, open) {
  return el('details', { open: Boolean(open) }, el('summary', {}, el('span', { class: 'index' }, name), el('span', { class: 'side' }, size(shown))),
    el('div', { class: 'inside' }, el('pre', { tabindex: '0', role: 'region', 'aria-label': name }, shown.text)));
}

// -- what one can do here

function only() {
  const bad = byId('only-bad').checked;
  for (const test of byId('tests').children) test.hidden = bad && test.dataset.passed === 'true';
}

async function rejudge() {
  const button = byId('rejudge');
  const result = byId('rejudged');
  button.setAttribute('aria-disabled', 'true');
  text(result, 'Judging…');
  result.className = 'result';
  try {
    const found = await ask(`${api}/rejudge`, { method: 'POST', headers: { 'X-Sandbox-Gym-Dashboard': 'rejudge' } });
    const words = { agrees: ['✓ The same verdict again.', 'passed'], disagrees: ['✕ Another verdict now: ', 'failed'], no_state: ['∅ It can\'t be judged again: ', 'no_verdict'] };
    const [said, kind] = words[found.agreement];
    const plan = found.planned_otherwise ? ' Today the answer would be planned otherwise.' : '';
    text(result, `${said}${found.agreement === 'agrees' ? '' : found.what}${plan}`);
    result.classList.add(kind);
  } catch (error) {
    text(result, `It was not judged: ${error.message}.`);
    result.classList.add('failed');
  }
  button.removeAttribute('aria-disabled');
}

byId('rejudge').addEventListener('click', () => {
  if (byId('rejudge').getAttribute('aria-disabled') !== 'true') rejudge();
});
byId('only-bad').addEventListener('change', only);
load();
