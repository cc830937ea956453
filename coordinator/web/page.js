/* The page asks its coordinator every two seconds and shows what it says. All of that is put into
 * the page as text, never as markup. */
'use strict';

const EVERY_MS = 2000, WAIT_MS = 5000, STALE_MS = 7000;
const at = (id) => document.getElementById(id);

/* ---- numbers in words ---- */

function scaled(value, base, units) {
  let unit = 0;
  while (value >= base && unit < units.length - 1) {
    value /= base;
    unit++;
  }
  const text = String(unit === 0 ? Math.round(value) : value >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));
  return text + (units[unit] ? '\u00a0' + units[unit] : '');
}
const count = (n) => n < 10000 ? n.toLocaleString('en') : scaled(n, 1000, ['', 'k', 'M', 'G', 'T']);
const bytes = (n) => scaled(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
const exact = (n) => n.toLocaleString('en');

function hundredths(share) {
  const p = 100 * share;
  return p > 0 && p < 1e-4 ? '<\u00a00.0001' : p >= 10 ? p.toFixed(0) : String(Number(p.toPrecision(2)));
}
const percent = (share) => hundredths(share) + '\u00a0%';

function duration(s) {
  const steps = [[86400 * 365, 'years'], [86400, 'd'], [3600, 'h'], [60, 'min']];
  for (const [size, unit] of steps) {
    if (s >= 2 * size) {
      return Math.round(s / size) + '\u00a0' + unit;
    }
  }
  return Math.round(s) + '\u00a0s';
}

const plural = (n, one, many) => count(n) + '\u00a0' + (n === 1 ? one : many);

/* ---- elements ---- */

function make(tag, name, ...children) {
  const element = document.createElement(tag);
  if (name) {
    element.className = name;
  }
  element.append(...children);
  return element;
}

function say(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

function mark(element, name) {
  if (element.className !== name) {
    element.className = name;
  }
}

/* Children of `parent` become those of `items`, in order; one that stays is kept, so that neither
 * focus nor selection is lost. Items of one key are told apart by their number. */
function show(parent, items, key, create, update) {
  const before = new Map();
  const seen = new Map();
  for (const child of parent.children) {
    before.set(child.key, child);
  }
  let next = parent.firstElementChild;
  for (const item of items) {
    const same = key(item);
    const number = seen.get(same) || 0;
    const name = number + '\n' + same;
    seen.set(same, number + 1);
    let child = before.get(name);
    if (child) {
      before.delete(name);
    } else {
      child = create(item);
      child.key = name;
    }
    update(child, item);
    if (child === next) {
      next = next.nextElementSibling;
    } else {
      parent.insertBefore(child, next);
    }
  }
  for (const child of before.values()) {
    child.remove();
  }
}

const signs = {well: '\u2713', busy: '\u2197', warn: '\u25b2', bad: '\u2715', idle: '\u2013'};

function sign() {
  const element = make('span', 'sign');
  element.setAttribute('aria-hidden', 'true');
  return element;
}

function bar(label) {
  const element = make('div', 'bar', make('i'));
  element.setAttribute('role', 'progressbar');
  element.setAttribute('aria-label', label);
  return element;
}

/* `share` null: nobody knows how far it is. */
function fill(element, share, high) {
  mark(element, 'bar' + (share === null ? ' unknown' : high ? ' high' : ''));
  if (share === null) {
    element.removeAttribute('aria-valuenow');
  } else {
    const p = Math.max(0, Math.min(100, 100 * share));
    element.setAttribute('aria-valuenow', p.toFixed(0));
    element.firstElementChild.style.width = p.toFixed(1) + '%';
  }
}

/* ---- nodes and hosts ---- */

function judgeNode(node) {
  const moving = node.replicas_joining + node.replicas_building;
  if (!node.alive || node.seen_ago_ms > node.silent_after_ms) {
    const words = node.seen_ago_ms > 0 ? 'silent ' + duration(node.seen_ago_ms / 1000) : 'not heard';
    return node.slots === 0 ? ['idle', words + ', empty'] : ['bad', words];
  }
  if (node.draining) {
    return node.slots === 0 ? ['idle', 'drained'] : ['warn', 'draining'];
  }
  if (node.replicas_building > 0) {
    return ['warn', 'rebuilding ' + count(moving)];
  }
  return moving > 0 ? ['warn', 'joining ' + count(moving)] : ['well', 'up'];
}

function createNode(node) {
  const item = make('li', 'node');
  item.append(make('div', 'line', sign(), make('span', 'name', node.name), make('span', 'state')),
    bar('memory of ' + node.name), make('div', 'small'));
  return item;
}

function updateNode(item, node) {
  const [level, words] = judgeNode(node);
  const [line, memory, small] = item.children;
  mark(item, 'node ' + level);
  say(line.children[0], signs[level]);
  say(line.children[2], words);
  fill(memory, node.memory_limit_bytes > 0 ? node.memory_used_bytes / node.memory_limit_bytes : 0,
    node.memory_used_bytes > 0.9 * node.memory_limit_bytes);
  say(small, bytes(node.memory_used_bytes) + ' of ' + bytes(node.memory_limit_bytes) +
    (node.durable ? ', disk ' + bytes(node.disk_used_bytes) : ', no disk') + ' \u00b7 ' +
    (node.alive ? plural(node.replicas_full, 'replica', 'replicas') : plural(node.slots, 'replica', 'replicas') + ' missing') +
    (node.replaced_by ? ' \u00b7 replaced by ' + node.replaced_by : ''));
  item.title = node.endpoint;
}

function hostsOf(nodes) {
  const hosts = new Map();
  for (const node of nodes) {
    const key = node.zone + '\n' + node.host;
    if (!hosts.has(key)) {
      hosts.set(key, {key, name: node.host, zone: node.zone, nodes: []});
    }
    hosts.get(key).nodes.push(node);
  }
  return [...hosts.values()].sort((a, b) => a.key.localeCompare(b.key, 'en', {numeric: true}));
}

function createHost(host) {
  const list = make('ul', '');
  list.setAttribute('aria-label', 'Nodes of host ' + host.name);
  return make('div', 'host', make('h3', '', make('span', 'name', host.name), make('span', '', host.zone && host.zone !== 'default' ? 'zone ' + host.zone : '')), list);
}

function showHosts(nodes) {
  const hosts = hostsOf(nodes);
  const up = nodes.filter((node) => node.alive).length;
  say(at('map-note'), nodes.length === 0 ? 'no nodes yet: start orbloom-node with this coordinator\u2019s endpoint'
    : up + ' of ' + plural(nodes.length, 'node', 'nodes') + ' up on ' + plural(hosts.length, 'host', 'hosts'));
  show(at('hosts'), hosts, (host) => host.key, createHost, (item, host) => {
    show(item.children[1], host.nodes, (node) => node.id, createNode, updateNode);
  });
}

/* ---- sites ---- */

/* What is added here, and not there yet. */
function behind(site) {
  if (site.out_behind_us === null || site.out_behind_us === undefined) {
    return '';
  }
  return site.out_pending_keys === 0 ? ', has all' : ', ' + (site.out_behind_us < 1e6 ? Math.max(1, Math.round(site.out_behind_us / 1000)) + '\u00a0ms' : duration(site.out_behind_us / 1e6)) +
    ' behind, ' + plural(site.out_pending_keys, 'key', 'keys');
}

function judgeSite(site) {
  if (site.own) {
    return ['well', 'this site' + (site.links > 0 ? ', ' + plural(site.links, 'link', 'links') : '')];
  }
  if (site.paused) {
    return ['warn', 'paused' + behind(site)];
  }
  return site.connected
    ? ['well', 'connected' + (site.round_trip_us > 0 ? ', ' + Number((site.round_trip_us / 1000).toPrecision(2)) + '\u00a0ms away' : '') + behind(site)]
    : ['bad', 'not connected' + behind(site)];
}

function showSites(answer) {
  show(at('sites'), answer.sites, (site) => site.id,
    (site) => make('li', '', sign(), make('b', '', site.name), make('span', 'state')),
    (item, site) => {
      const [level, words] = judgeSite(site);
      mark(item, level + (site.own ? ' own' : ''));
      say(item.children[0], signs[level]);
      say(item.children[2], words);
    });
  const waiting = answer.filters.filter((filter) => filter.awaited).map((filter) => [filter.name, filter.awaited, ''])
    .concat(answer.refusals.map((one) => [one.name, 'can\u2019t come here from ' + one.site + ': ' + one.reason, one.site])).slice(0, 12);
  show(at('waiting'), waiting, (one) => one[0] + '\n' + one[2], () => make('li', '', make('b', ''), ' ', make('span', '')), (item, one) => {
    say(item.children[0], one[0]);
    say(item.children[1], one[1]);
  });
}

/* ---- at a glance ---- */

/* What is amiss is told with `add(level, kind, what, more)`; the kind and the name of what it is about
 * stay the same as long as it lasts, whatever numbers and times are told of it. */

/* Filters that lack replicas for the same reason are one matter. */
function lacking(status, add) {
  const causes = new Map();
  for (const one of status.lacking) {
    const cause = one.why + '. What helps: ' + one.remedy + '.';
    causes.set(cause, (causes.get(cause) || []).concat(one));
  }
  let rest = status.sums.filters_lacking - status.lacking.length;
  for (const [cause, filters] of causes) {
    const [first] = filters;
    const more = causes.size === 1 ? rest : 0;
    rest -= more;
    if (filters.length + more === 1) {
      add('warn', 'lacking\n' + cause, first.filter + ' lacks replicas: ' + exact(first.shards) + ' of ' + exact(first.of_shards) + ' shards have fewer than ' +
        first.replicas + ', at least ' + first.fewest_full, cause);
    } else {
      add('warn', 'lacking\n' + cause, plural(filters.length + more, 'filter lacks', 'filters lack') + ' replicas', cause + ' ' +
        filters.slice(0, 4).map((one) => one.filter).join(', ') + (filters.length + more > 4 ? ' and ' + count(filters.length + more - 4) + ' more' : '') + '.');
    }
  }
  if (rest > 0) {
    add('warn', 'lacking', plural(rest, 'more filter lacks', 'more filters lack') + ' replicas');
  }
}

function troubles(status, sites) {
  const list = [];
  const add = (level, kind, what, more) => list.push({level, kind, what, more: more || ''});
  for (const reason of status.ready.reasons) {
    add('bad', 'ready\n' + reason.what, 'The coordinator is not ready: ' + reason.why);
  }
  const silent = status.nodes.filter((node) => judgeNode(node)[0] === 'bad');
  if (silent.length > 0) {
    add('bad', 'silent', silent.length === 1 ? 'Node ' + silent[0].name + (silent[0].seen_ago_ms > 0 ? ' is silent' : ' was not heard yet') : plural(silent.length, 'node is', 'nodes are') + ' silent',
      silent.length > 1 ? silent.slice(0, 8).map((node) => node.name).join(', ') + (silent.length > 8 ? ' \u2026' : '') : '');
  }
  if (status.sums.filters_unserved > 0) {
    add('bad', 'unserved', plural(status.sums.filters_unserved, 'filter is', 'filters are') + ' not served in full');
  }
  lacking(status, add);
  for (const site of sites.sites) {
    if (judgeSite(site)[0] !== 'well') {
      add(judgeSite(site)[0], 'site\n' + site.id, 'Site ' + site.name + ' is ' + judgeSite(site)[1]);
    }
  }
  if (status.keys_behind.length > 0) {
    add('warn', 'keys', 'An older cluster key signs at ' + status.keys_behind.slice(0, 8).join(', '));
  }
  return list;
}

function verdict(status, list) {
  const moving = status.nodes.filter((node) => judgeNode(node)[0] === 'warn').length;
  if (list.some((one) => one.level === 'bad')) {
    return ['bad', list.find((one) => one.level === 'bad').what];
  }
  if (list.length > 0) {
    return ['warn', list.length === 1 ? list[0].what : list.length + ' things need attention'];
  }
  if (moving > 0) {
    return ['warn', plural(moving, 'node is', 'nodes are') + ' taking replicas over'];
  }
  return status.nodes.length === 0 ? ['idle', 'No nodes yet'] : ['well', 'All is well'];
}

function showGlance(status, sites) {
  const list = troubles(status, sites);
  const [level, words] = verdict(status, list);
  const sums = status.sums;
  const up = status.nodes.filter((node) => node.alive);
  const sum = (name) => up.reduce((all, node) => all + node[name], 0);
  const figures = [
    ['Nodes up', up.length + '', 'of ' + status.nodes.length],
    ['Filters', count(sums.filters), ''],
    ['Keys, about', count(sums.keys_estimate), sums.capacity > 0 ? percent(sums.keys_estimate / sums.capacity) + ' full' : ''],
    ['Capacity', count(sums.capacity), 'keys'],
    ['Memory', bytes(sum('memory_used_bytes')), 'of ' + bytes(sum('memory_limit_bytes'))],
    ['Replicas', count(sum('replicas_full')), sum('replicas_joining') + sum('replicas_building') > 0 ? '+ ' + count(sum('replicas_joining') + sum('replicas_building')) + ' to come' : 'full'],
    ['Routers', status.routers.length + '', ''],
  ];
  mark(at('verdict'), 'verdict ' + level);
  say(at('verdict').children[0], signs[level]);
  say(at('verdict').children[1], words);
  say(at('where'), [status.site, status.coordinator].filter(Boolean).join(' \u00b7 '));
  document.title = signs[level] + ' ' + (status.site || status.coordinator) + ' \u00b7 orbloom';
  show(at('figures'), figures, (one) => one[0],
    (one) => make('div', '', make('dt', '', one[0]), make('dd', '', make('span', ''), ' ', make('small', ''))),
    (item, one) => {
      say(item.children[1].children[0], one[1]);
      say(item.children[1].children[1], one[2]);
    });
  /* What stands above is not said twice. */
  show(at('attention'), list.filter((one) => one.more || one.what !== words), (one) => one.kind, () => make('li', '', sign(), make('strong', ''), make('span', 'more')), (item, one) => {
    mark(item, one.level);
    say(item.children[0], signs[one.level]);
    say(item.children[1], one.what);
    say(item.children[2], one.more);
    item.children[2].hidden = !one.more;
  });
}

/* ---- changes ---- */

const steps = {
  growing: 'grows', refused: 'is due to grow, and can\u2019t', to_begin: 'replicas are to be replaced', copying: 'replicas are copied',
  handing_over: 'replicas are handed over', loading: 'is loaded from a dump', feeding: 'is rebuilt from a list', renaming: 'is renamed', dropping: 'is dropped',
};

function showChanges(answer) {
  const list = answer.changes;
  say(at('changes-note'), list.length === 0 ? 'nothing is under way' : answer.filters_left > 0 ? 'and ' + plural(answer.filters_left, 'more filter', 'more filters') : '');
  show(at('changes'), list, (one) => one.filter + '\n' + one.what, (one) => {
    const item = make('li', 'change');
    item.append(make('div', 'name', one.filter + ' ', make('span', 'what')), make('span', 'share'), bar(one.filter + ' ' + one.what), make('p', 'awaited'));
    return item;
  }, (item, one) => {
    const [name, share, progress, awaited] = item.children;
    const stands = one.step === 'refused' || (one.step === 'to_begin' && one.slots === 0);
    say(name.children[0], (steps[one.step] || one.step) + (one.slots > 0 ? ', ' + exact(one.slots) + ' of them' : ''));
    say(share, one.progress === null ? (stands ? '\u25b2 waits' : '') : percent(one.progress));
    progress.hidden = stands;
    fill(progress, one.progress, false);
    say(awaited, one.awaited ? 'Awaited: ' + one.awaited : '');
  });
}

/* ---- filters ---- */

const wanted = {q: '', page: 1, size: 25};

function judgeFilter(one) {
  if (one.state !== 'active') {
    return ['warn', one.state];
  }
  if (!one.served) {
    return ['bad', 'not served'];
  }
  if (one.shards_lacking > 0) {
    return ['warn', 'lacks replicas'];
  }
  return one.growing ? ['busy', 'grows'] : one.changing ? ['busy', 'changes'] : ['well', 'well'];
}

function fullIn(one) {
  if (one.fill >= 1) {
    return 'full';
  }
  return one.full_in_s === null ? '' : duration(one.full_in_s);
}

/* What nodes have met, and marked where even the lower end of its interval is more than was asked. */
function showMeasured(element, one) {
  const known = one.probes > 0;
  const above = known && one.measured_fpr_low > one.rate;
  mark(element, above ? 'measured above' : 'measured');
  say(element, !known ? '' : (above ? '\u25b2\u00a0' : '') + 'measured\u00a0' + percent(one.measured_fpr) +
    ' (' + hundredths(one.measured_fpr_low) + '\u00a0to\u00a0' + hundredths(one.measured_fpr_high) + ')');
  element.title = !known ? '' : 'of ' + exact(one.probes) + ' absent keys that nodes looked up; within the interval with 99.9 %' +
    (above ? ', above what was asked' : '');
}

const labels = ['', 'State', 'Fill', 'Keys', 'Capacity', 'Rate now', 'Asked', 'Full in', 'A copy'];

function createFilter(one) {
  const row = make('tr', '');
  const name = make('th', '', one.name);
  name.scope = 'row';
  row.append(name);
  for (let i = 1; i < labels.length; i++) {
    const cell = make('td', i >= 3 ? 'number' : i === 2 ? 'fill' : '');
    cell.dataset.label = labels[i];
    row.append(cell);
  }
  row.cells[1].append(make('span', 'state', sign(), make('span', '')));
  row.cells[2].append(bar('fill of ' + one.name), make('span', ''));
  row.cells[5].append(make('div', '', make('div', ''), make('div', 'measured')));
  return row;
}

function updateFilter(row, one) {
  const cells = row.cells;
  const [level, words] = judgeFilter(one);
  const above = one.rate_now > one.rate * 1.0001;
  mark(row, level);
  say(cells[1].firstChild.children[0], signs[level]);
  say(cells[1].firstChild.children[1], words);
  fill(cells[2].children[0], one.fill, one.fill > 0.9);
  say(cells[2].children[1], percent(one.fill));
  say(cells[3], count(one.keys_estimate));
  cells[3].title = 'about ' + exact(one.keys_estimate) + (one.keys_per_s ? ', ' + count(one.keys_per_s) + ' more a second' : '');
  say(cells[4], count(one.capacity));
  cells[4].title = exact(one.capacity) + (one.max_capacity > one.capacity ? ', may grow to ' + exact(one.max_capacity) : '');
  const [expected, measured] = cells[5].firstChild.children;
  say(expected, (above ? '\u25b2\u00a0' : '') + percent(one.rate_now));
  mark(expected, above ? 'above' : '');
  expected.title = above ? 'above what was asked' : '';
  showMeasured(measured, one);
  say(cells[6], percent(one.rate));
  say(cells[7], fullIn(one));
  cells[7].title = one.full_in_s !== null ? 'at its present pace' + (one.when_full === 'expand' ? '; it grows by itself before' : '') : '';
  say(cells[8], bytes(one.copy_bytes));
}

function showFilters(answer) {
  const pages = Math.max(1, answer.pages);
  if (answer.page > pages) { /* Some have gone. */
    wanted.page = pages;
    askFilters();
    return;
  }
  say(at('filters-note'), answer.total === 0 ? (answer.q ? 'none has that in its name' : 'none yet; make one: orbloom create NAME --capacity 10M --fpr 1%')
    : answer.q ? plural(answer.total, 'matches', 'match') : count(answer.total) + ' in order of names');
  say(at('which'), 'page ' + exact(answer.page) + ' of ' + exact(pages));
  at('previous').disabled = answer.page <= 1;
  at('next').disabled = answer.page >= pages;
  show(at('filters'), answer.filters, (one) => one.id, createFilter, updateFilter);
}

/* ---- asking ---- */

let heardAt = 0, failure = '', timer = 0, asked = 0;

async function ask(path) {
  const answer = await fetch(path, {cache: 'no-store', signal: AbortSignal.timeout(WAIT_MS)});
  if (!answer.ok) {
    throw new Error('it answers ' + answer.status);
  }
  return answer.json();
}

const filtersPath = () => '/api/v1/filters?' + new URLSearchParams(wanted);

/* What was asked for before does not overwrite what is asked for now. */
async function askFilters() {
  const number = ++asked;
  location.replace('#' + new URLSearchParams(wanted));
  try {
    const answer = await ask(filtersPath());
    if (number === asked) {
      showFilters(answer);
    }
  } catch (error) {
    failed(error);
  }
}

function failed(error) {
  failure = error.name === 'TimeoutError' ? 'it is silent' : error.message === 'Failed to fetch' ? 'no connection' : error.message;
  showAge();
}

function showAge() {
  const age = Date.now() - heardAt;
  const stale = failure !== '' || age > STALE_MS;
  const paused = document.hidden;
  document.body.className = paused ? 'is-paused' : stale ? 'is-stale' : '';
  at('stale').hidden = paused || !stale;
  if (heardAt === 0) {
    say(at('age'), failure ? 'no answer' : 'loading');
    say(at('stale'), 'The coordinator does not answer (' + (failure || 'it is silent') + ').');
    at('stale').hidden = paused || failure === '';
    return;
  }
  say(at('age'), paused ? 'paused' : stale ? duration(age / 1000) + ' old' : 'live');
  if (stale) { /* The same as long as it lasts: it is read out. */
    say(at('stale'), 'The coordinator does not answer (' + (failure || 'it is silent') + '). What you see is of ' +
      new Date(heardAt).toLocaleTimeString() + '.');
  }
}

async function round() {
  const number = asked;
  clearTimeout(timer);
  try {
    const [status, sites, changes, filters] = await Promise.all([ask('/api/v1/status'), ask('/api/v1/sites'), ask('/api/v1/changes'), ask(filtersPath())]);
    showGlance(status, sites);
    showHosts(status.nodes);
    showSites(sites);
    showChanges(changes);
    if (number === asked) {
      showFilters(filters);
    }
    if (heardAt === 0) {
      performance.mark('shown');
    }
    heardAt = Date.now();
    failure = '';
  } catch (error) {
    failed(error);
  }
  showAge();
  clearTimeout(timer);
  if (!document.hidden) {
    timer = setTimeout(round, EVERY_MS);
  }
}

/* ---- whoever looks ---- */

function turn(page) {
  wanted.page = page;
  askFilters();
}

let typing = 0;
at('search').addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    wanted.q = at('search').value.trim();
    turn(1);
  }, 150);
});
at('find').addEventListener('submit', (event) => event.preventDefault());
at('previous').addEventListener('click', () => turn(wanted.page - 1));
at('next').addEventListener('click', () => turn(wanted.page + 1));
at('size').addEventListener('change', () => {
  wanted.size = Number(at('size').value);
  turn(1);
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && document.activeElement !== at('search')) {
    event.preventDefault();
    at('search').focus();
  }
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    clearTimeout(timer);
    showAge();
  } else {
    round();
  }
});
setInterval(showAge, 1000);

for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
  if (name === 'q') {
    wanted.q = value.slice(0, 127);
    at('search').value = wanted.q;
  } else if (name === 'page' && Number(value) >= 1) {
    wanted.page = Math.floor(Number(value));
  } else if (name === 'size' && [...at('size').options].some((option) => option.value === value)) {
    wanted.size = Number(value);
    at('size').value = value;
  }
}
round();
