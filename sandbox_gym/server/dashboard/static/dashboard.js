// The live page: one stream of pictures, each drawn over the last.
import { byId, el, text, show, reconcile, tiles as fillTiles, facts, count, seconds, bytes, percent, reward, clock, ask, KINDS, spoken } from './dom.js';
import { slots, range, bar, barRow } from './charts.js';
import { Chart, VERDICTS } from './chart.js';
import { verdictRow } from './list.js';
import { heard, unheard } from './down.js';

const RETRY_MS = 5000;
const SILENT_MS = 6000;
let latest = null;
let heldByHand = false;
let filtered = null;
let lastHeard = 0;
let rateChart = null;

// -- the link

function connect() {
  const source = new EventSource('/dashboard/api/events');
  source.onmessage = (event) => {
    lastHeard = Date.now();
    link('live', 'Live');
    heard();
    latest = JSON.parse(event.data);
    draw(latest);
  };
  source.onerror = () => {
    link('lost', 'Connection lost, trying again…');
    if (source.readyState !== EventSource.CLOSED) unheard();
    else {
      // refused, not cut off: perhaps the token changed, perhaps too many look on
      ask('/dashboard/api/live').then((picture) => {
        draw(picture);
        link('lost', 'No live updates now, trying again…');
        lastHeard = Date.now();
        heard();
      }).catch(unheard);
      setTimeout(connect, RETRY_MS);
    }
  };
  window.addEventListener('pagehide', () => source.close(), { once: true });
}

function link(state, words) {
  const node = byId('link');
  if (node.dataset.state !== state) node.dataset.state = state;
  text(node, words);
}

setInterval(() => {
  if (!lastHeard || Date.now() - lastHeard <= SILENT_MS) return;
  link('lost', 'Connection lost, trying again…');
  unheard();
}, 2000);

// -- the picture

function draw(picture) {
  server(picture.server);
  show(byId('tabs'), Boolean(picture.journal));
  tiles(picture);
  if (show(byId('pool-panel'), Boolean(picture.pool))) pool(picture.pool);
  if (show(byId('queue-panel'), Boolean(picture.queue))) queue(picture.queue);
  if (show(byId('sessions-panel'), Boolean(picture.sessions))) sessions(picture.sessions, picture.at);
  if (show(byId('sandboxes-panel'), Boolean(picture.sandboxes))) sandboxes(picture.sandboxes, picture.at);
  const judged = Boolean(picture.verdicts);
  for (const name of ['rate', 'mix', 'phases', 'verdicts']) show(byId(`${name}-panel`), judged);
  if (judged) {
    rates(picture.verdicts, picture.at);
    mix(picture.verdicts.mix);
    phases(picture.phases);
    reasons(picture.verdicts.mix);
    if (!filtered) verdicts(picture.verdicts.latest);
    text(byId('kept'), `The latest ${count(picture.verdicts.kept)} verdicts are in memory (${bytes(picture.verdicts.kept_bytes)}).`);
  }
  if (show(byId('feed-panel'), Boolean(picture.feed))) feed(picture.feed);
  if (show(byId('radar-panel'), Boolean(picture.radar))) radar(picture.radar);
}

function server(facts_) {
  text(byId('server-name'), facts_.name);
  document.title = `${facts_.name} — sandbox_gym dashboard`;
  const chips = [facts_.kind !== facts_.name ? facts_.kind : '', facts_.provider, facts_.isolation && `isolation ${facts_.isolation}`,
    `v${facts_.version}`, `up ${seconds(Math.max(1, Date.now() / 1000 - facts_.started_at))}`];
  reconcile(byId('server-facts'), chips.filter(Boolean).map((chip, index) => [index, chip]), ([index]) => index,
    () => el('li'), (chip, [, words]) => text(chip, words));
}

function tiles(picture) {
  const made = [];
  if (picture.verdicts) {
    const { rates: bins, bin_s: binSeconds, mix: shares, total } = picture.verdicts;
    const recent = bins.slice(-6).flat().reduce((sum, number) => sum + number, 0) / (6 * binSeconds);
    const by = { passed: 0, failed: 0, no_verdict: 0 };
    for (const share of shares) by[share.kind] += share.recent;
    const verdicts_ = by.passed + by.failed;
    const all = picture.phases.find((phase) => phase.name === 'total');
    made.push(
      ['Verdicts / s', recent >= 100 ? count(recent) : recent.toFixed(1), 'over 30 s'],
      ['Passed', verdicts_ ? percent(by.passed / verdicts_) : '–', `of ${count(verdicts_)} in 5 min`, 'passed'],
      ['No verdict', count(by.no_verdict), 'in 5 min', by.no_verdict ? 'no_verdict' : ''],
      ['Median verify', all ? seconds(all.p50_s) : '–', all ? `p95 ${seconds(all.p95_s)}` : 'none yet'],
      ['Since start', count(total), 'verifies']);
  }
  if (picture.pool) {
    made.push(['Busy slots', `${count(picture.pool.leased)} / ${count(picture.pool.slots)}`, `${count(picture.pool.warm)} warm`],
      ['Waiting', count(picture.queue.waiting), picture.queue.waiting ? 'in the queue' : 'queue is empty', picture.queue.waiting ? 'no_verdict' : '']);
  }
  if (picture.sandboxes) {
    made.push(['Running', count(picture.sandboxes.running), `of ${count(picture.sandboxes.most)} at once`],
      ['Paused', count(picture.sandboxes.paused), 'kept on disk'],
      ['Tenants', count(picture.sandboxes.tenants.length + picture.sandboxes.other_tenants), 'hold sandboxes']);
  }
  fillTiles(byId('now'), made);
}

function rates({ rates: bins, bin_s: width }, at) {
  rateChart ??= new Chart(byId('rate'), { series: VERDICTS, bars: true, height: 140, format: (value) => value.toPrecision(2).replace(/\.?0+$/, ''), reading: byId('rate-reading') });
  const end = Math.floor(at / width) * width;
  const places = bins.map((bin, index) => end - (bins.length - index) * width);
  const most = Math.max(...bins.map((bin) => bin[0] + bin[1] + bin[2])) / width;
  rateChart.set('time', places, [0, 1, 2].map((kind) => bins.map((bin) => bin[kind] / width)), `Verdicts a second in the last 5 minutes: ${most ? `${most.toFixed(1)} at most` : 'none'}`, width);
}

function pool(counts) {
  slots(byId('slots'), counts);
  facts(byId('pool-facts'), [
    ['Boxes alive', count(counts.alive)], ['Limit for now', count(counts.limit)], ['Given to plans', count(counts.leases)],
    ['Started', count(counts.started)], ['Reused', count(counts.reused)], ['Discarded', count(counts.discarded)],
    ['Failed starts', count(counts.start_failures), counts.start_failures ? 'failed' : ''],
    ['Lost during a run', count(counts.crashes), counts.crashes ? 'failed' : ''],
  ]);
}

function queue(waiting) {
  const rows = waiting.tenants.map((one) => [one.tenant || '(no tenant)', one.waiting]);
  if (waiting.others.tenants) rows.push([`${count(waiting.others.tenants)} others`, waiting.others.waiting]);
  const most = Math.max(1, ...rows.map(([, number]) => number));
  reconcile(byId('queue'), rows, ([name]) => name, () => barRow(),
    (row, [name, number]) => bar(row, name, count(number), number / most, 'busy'));
  show(byId('queue-empty'), !rows.length);
}

function mix(shares) {
  const most = Math.max(1, ...shares.map((share) => share.recent));
  reconcile(byId('mix'), shares.slice(0, 12), (share) => `${share.kind} ${share.reason}`, () => barRow(), (row, share) => {
    const [sign, word] = KINDS[share.kind];
    const label = share.kind === 'no_verdict' ? `${sign} ${word}: ${spoken(share.reason)}` : `${sign} ${spoken(share.reason)}`;
    bar(row, label, `${count(share.recent)} · ${count(share.total)}`, share.recent / most, share.kind);
  });
  show(byId('mix-empty'), !shares.length);
}

const PHASE_WORDS = { queue: 'for a turn', acquire: 'a box', put: 'files in', run: 'programs', judge: 'compare', total: 'all of it' };

function phases(list) {
  reconcile(byId('phases'), list, (phase) => phase.name,
    (phase) => {
      const chart = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      chart.setAttribute('class', 'range-chart');
      chart.setAttribute('preserveAspectRatio', 'none');
      chart.setAttribute('aria-hidden', 'true');
      return el('tr', { class: phase.name === 'total' ? 'sum' : '' },
        el('th', { scope: 'row' }, phase.name, el('small', {}, PHASE_WORDS[phase.name] || '')),
        el('td', { class: 'num' }), el('td', { class: 'num' }), el('td', { class: 'range-cell' }, chart));
    },
    (row, phase) => {
      text(row.children[1], seconds(phase.p50_s));
      text(row.children[2], seconds(phase.p95_s));
      range(row.querySelector('svg'), phase.p50_s, phase.p95_s);
    });
  const most = Math.max(0, ...list.map((phase) => phase.count));
  text(byId('phases-note'), most ? `${count(most)} latest verifies` : '');
  show(byId('phases-empty'), !list.length);
  show(byId('phases').closest('table'), Boolean(list.length));
}

function sessions(held, now) {
  facts(byId('sessions-facts'), [['Live', count(held.live)], ['Hibernated', count(held.hibernated)],
    ['Snapshots', bytes(held.disk_bytes)], ['Woken', count(held.counts.woken)],
    ['Lost', count(held.counts.lost), held.counts.lost ? 'failed' : ''], ['Closed', count(held.counts.closed)]]);
  reconcile(byId('sessions'), held.latest, (one) => one.session_id,
    () => el('li', {}, el('span', { class: 'badge' }), ' ', el('span', { class: 'mono' }), el('span', { class: 'side' })),
    (row, one) => {
      text(row.children[0], one.live ? 'live' : 'asleep');
      row.children[0].className = `badge ${one.live ? 'passed' : 'quiet'}`;
      text(row.children[1], `${one.session_id}…`);
      text(row.children[2], `${count(one.calls)} calls, ${seconds(Math.max(0, now - one.last_used))} ago`);
    });
}

function sandboxes(held, now) {
  const most = Math.max(1, ...held.tenants.map((one) => one.running + one.paused));
  reconcile(byId('sandbox-tenants'), held.tenants, (one) => one.tenant, () => barRow(),
    (row, one) => bar(row, one.tenant, `${count(one.running)} running · ${count(one.paused)} paused`, (one.running + one.paused) / most, 'busy'));
  reconcile(byId('sandboxes'), held.latest, (one) => one.id,
    () => el('tr', {}, el('th', { scope: 'row', class: 'mono' }), el('td', {}, el('span', { class: 'badge' })), el('td'),
      el('td', { class: 'wide-only' }), el('td', { class: 'num' }), el('td', { class: 'num' })),
    (row, one) => {
      text(row.children[0], one.id);
      text(row.children[1].firstChild, one.running ? 'running' : 'paused');
      row.children[1].firstChild.className = `badge ${one.running ? 'passed' : 'quiet'}`;
      text(row.children[2], one.tenant);
      text(row.children[3], one.template);
      text(row.children[4], bytes(one.memory_bytes));
      text(row.children[5], seconds(Math.max(0, now - one.started_at)));
    });
  show(byId('sandboxes-empty'), !held.latest.length);
  show(byId('sandboxes').closest('table'), Boolean(held.latest.length));
}

const FEED_WORDS = { crash: ['lost', 'failed'], retry: ['retry', 'no_verdict'], provider_down: ['provider down', 'failed'], quarantine: ['kept out', 'no_verdict'] };

function radar(report) {
  reconcile(byId('rises'), report.rises, (rise) => `${rise.kind} ${rise.tenant} ${rise.since}`,
    () => el('li', { class: 'rise' }, el('span', { class: 'badge failed' }), ' ', el('span', { class: 'why' }), ' ', el('span', { class: 'answers' })),
    (row, rise) => {
      text(row.children[0], spoken(rise.kind));
      const tasks = rise.tasks.map((one) => `${one.task} (${count(one.count)} of ${count(one.of)})`).join(', ');
      text(row.children[1], `${percent(rise.before)} → ${percent(rise.share)} of ${rise.tenant || 'all'} verifies since ${clock(rise.since)}: ${tasks}. First answers:`);
      reconcile(row.children[2], rise.first, (one) => one.id,
        (one) => el('a', { href: `/dashboard/verdicts/${one.id}`, title: one.evidence }, `${one.id.slice(0, 8)} `), () => {});
    });
  show(byId('rises-empty'), !report.rises.length);
  reconcile(byId('radar-hours'), report.hours, (hour) => hour.at,
    () => el('tr', {}, el('th', { scope: 'row' }), el('td', { class: 'num' }), el('td', {}), el('td', { class: 'wide-only' })),
    (row, hour) => {
      text(row.children[0], clock(hour.at));
      text(row.children[1], count(hour.verifies));
      const kinds = Object.entries(hour.kinds).sort((one, other) => other[1] - one[1]);
      text(row.children[2], kinds.map(([kind, number]) => `${spoken(kind)} ${count(number)} (${percent(number / hour.verifies)})`).join(' · ') || 'none');
      text(row.children[3], hour.tasks.slice(0, 3).map((one) => one.tenant ? `${one.task} (${one.tenant})` : one.task).join(', '));
    });
}

function feed(events) {
  reconcile(byId('feed'), events.events, (event) => event.number,
    (event) => {
      const [word, kind] = FEED_WORDS[event.kind] || [event.kind, 'quiet'];
      const attempt = event.attempt ? `try ${event.attempt}` : '';
      return el('li', {}, el('span', { class: `badge ${kind}` }, word), ' ',
        el('span', { class: 'why' }, [event.cause && spoken(event.cause), event.why].filter(Boolean).join(': ')),
        el('span', { class: 'side' }, [attempt, clock(event.at)].filter(Boolean).join(', ')));
    }, () => {});
  const parts = Object.entries(events.counts).map(([kind, number]) => `${count(number)} ${(FEED_WORDS[kind] || [kind])[0]}`);
  text(byId('feed-note'), parts.join(' · '));
  show(byId('feed-empty'), !events.events.length);
}

// -- the list of verdicts

function standsStill() {
  const panel = byId('verdicts').closest('table');
  const within = panel.contains(document.activeElement) || panel.matches(':hover');
  show(byId('held'), within && !heldByHand);
  return heldByHand || within;
}

function verdicts(list) {
  if (standsStill()) return;
  reconcile(byId('verdicts'), list, (one) => one.id, verdictRow, () => {});
  show(byId('verdicts-empty'), !list.length);
  show(byId('verdicts').closest('table'), Boolean(list.length));
}

function reasons(shares) {
  const select = byId('reason');
  if (document.activeElement === select) return;
  const names = ['', ...shares.filter((share) => share.kind !== 'passed').map((share) => share.reason)];
  reconcile(select, [...new Set(names)], (name) => name || 'any', (name) => el('option', { value: name }, name ? spoken(name) : 'any'), () => {});
}

async function refilter() {
  const outcome = byId('outcome').value;
  const reason = byId('reason').value;
  filtered = outcome || reason ? `outcome=${encodeURIComponent(outcome)}&reason=${encodeURIComponent(reason)}` : null;
  if (!filtered) {
    if (latest && latest.verdicts) verdicts(latest.verdicts.latest);
    return;
  }
  const asked = filtered;
  try {
    const found = await ask(`/dashboard/api/verdicts?${asked}`);
    if (asked === filtered) verdicts(found.verdicts);
  } catch (error) {
    link('lost', error.message);
  }
}

byId('filters').addEventListener('change', refilter);
byId('filters').addEventListener('submit', (event) => event.preventDefault());
setInterval(() => { if (filtered && !document.hidden) refilter(); }, 2000);
byId('hold').addEventListener('click', () => {
  heldByHand = !heldByHand;
  byId('hold').setAttribute('aria-pressed', String(heldByHand));
});

connect();
