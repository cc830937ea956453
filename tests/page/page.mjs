/* The page in a browser, on a real cluster. Usage: node page.mjs BIN FILTERS [PICTURES]
 *
 * PICTURES: a folder for screenshots. Last line: "N passed, N failed". */
import {createServer} from 'node:http';
import {join} from 'node:path';
import {Browser, sleep} from './driver.mjs';
import {Cluster} from './cluster.mjs';

const [,, bin, filtersText, pictures] = process.argv;
const filters = Number(filtersText);
const LONG_MS = 40000, TAB = '\ue004', ENTER = '\ue007';
let passed = 0, failed = 0;

async function check(name, body) {
  try {
    const said = await body();
    console.log(`ok    ${name}${said ? `: ${said}` : ''}`);
    passed++;
  } catch (error) {
    console.log(`FAIL  ${name}: ${error.message}`);
    failed++;
  }
}

function expect(holds, what) {
  if (!holds) {
    throw new Error(what);
  }
}

async function picture(browser, name) {
  if (pictures) {
    await browser.shot(join(pictures, name + '.png'));
  }
}

const shown = (browser) => browser.until('the page shows the cluster', "return performance.getEntriesByName('shown').length > 0 && performance.getEntriesByName('shown')[0].startTime");

async function create(cluster) {
  const names = ['javascript:alert-1', ...Array.from({length: filters - 1}, (_, i) => `crawl-${String(i).padStart(4, '0')}`)];
  const work = async () => {
    for (let name = names.shift(); name; name = names.shift()) {
      await cluster.orbloom('create', name, '--capacity', '10k', '--fpr', '1%');
    }
  };
  await Promise.all(Array.from({length: 8}, work));
}

/* ---- what is shown ---- */

async function showsAll(browser) {
  const text = await browser.run("return document.getElementById('filters-note').textContent");
  expect(text.startsWith(filters.toLocaleString('en')), `"${text}" is not of ${filters}`);
  const rows = await browser.run("return document.querySelectorAll('#filters tr').length");
  expect(rows === Math.min(25, filters), `${rows} rows`);
  expect(await browser.run("return document.querySelectorAll('.node.well').length") === 4, 'four nodes are not well');
  expect((await browser.run("return document.getElementById('verdict').textContent")).includes('All is well'), 'not all is well');
}

async function pages(browser) {
  const first = "document.querySelector('#filters th').textContent";
  await browser.run("document.getElementById('next').focus()");
  await browser.keys(ENTER);
  await browser.until('the next page', `return ${first} === 'crawl-0025'`);
  await browser.run("const size = document.getElementById('size'); size.value = '100'; size.dispatchEvent(new Event('change'))");
  await browser.until('a hundred a page', "return document.querySelectorAll('#filters tr').length === Math.min(100, " + filters + ')');
  await browser.run("const size = document.getElementById('size'); size.value = '25'; size.dispatchEvent(new Event('change'))");
  await browser.until('25 a page again', "return document.querySelectorAll('#filters tr').length === 25");
}

/* All by keys: "/" and Tab. */
async function keyboard(browser, cluster) {
  await browser.go(cluster.url + '/');
  await shown(browser);
  const reached = [];
  for (let i = 0; i < 6; i++) {
    await browser.keys(TAB);
    reached.push(await browser.run('return document.activeElement.id || document.activeElement.className'));
  }
  for (const wanted of ['skip', 'search', 'next', 'size']) {
    expect(reached.includes(wanted), `Tab does not reach ${wanted} but ${reached}`);
  }
  const outline = await browser.run('return getComputedStyle(document.activeElement).outlineStyle');
  expect(outline !== 'none', 'what has the focus is not seen');
  await browser.run('document.activeElement.blur()');
  await browser.keys('/');
  await browser.keys('ALERT');
  await browser.until('one filter is found', "return document.querySelectorAll('#filters tr').length === 1");
  expect(await browser.run("return document.querySelector('#filters th').textContent") === 'javascript:alert-1', 'another one is found');
  await browser.run("document.getElementById('search').value = ''; document.getElementById('search').dispatchEvent(new Event('input'))");
  await browser.until('all filters again', "return document.querySelectorAll('#filters tr').length > 1");
}

async function narrow(browser, cluster) {
  await browser.resize(390, 844);
  await browser.go(cluster.url + '/');
  await shown(browser);
  const [scroll, inner] = await browser.run('return [document.documentElement.scrollWidth, innerWidth]');
  await picture(browser, 'narrow');
  await browser.resize(1280, 900);
  expect(inner === 390 && scroll <= inner, `${scroll} of ${inner} pixels`);
}

async function labelled(browser) {
  const wrong = await browser.run(`
    const wrong = [];
    const need = (holds, what) => holds || wrong.push(what);
    for (const one of ['h1', 'main', 'header', 'footer']) {
      need(document.querySelectorAll('body > ' + one + ', header ' + one).length === 1, one);
    }
    for (const field of document.querySelectorAll('input, select')) {
      need(field.labels.length > 0, 'label of ' + field.id);
    }
    for (const section of document.querySelectorAll('section, nav')) {
      need(section.ariaLabel || document.getElementById(section.getAttribute('aria-labelledby')), 'name of a section');
    }
    for (const bar of document.querySelectorAll('[role=progressbar]')) {
      need(bar.ariaLabel, 'name of a bar');
    }
    const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
    need(new Set(ids).size === ids.length, 'an id is there twice');
    for (const node of document.querySelectorAll('.node')) {
      need(node.querySelector('.state').textContent !== '', 'a state in words');
    }
    return wrong;`);
  expect(wrong.length === 0, wrong.join(', '));
}

/* ---- what happens ---- */

async function killed(browser, cluster) {
  const since = Date.now();
  cluster.signal('node-2', 'SIGKILL');
  await browser.until('node-2 is shown as silent', `return [...document.querySelectorAll('.node.bad')].some((node) => node.textContent.includes('node-2') && node.textContent.includes('silent'))`, LONG_MS);
  const ms = Date.now() - since;
  expect((await browser.run("return document.getElementById('verdict').className")).includes('bad'), 'the verdict is not bad');
  const color = await browser.run("return getComputedStyle(document.querySelector('.node.bad .state')).color");
  expect(/rgb\(1[5-9]\d, [0-6]\d, [0-6]\d\)/.test(color), `${color} is not red`);
  await browser.until('what lacks replicas is told', "return document.getElementById('attention').textContent.includes('node-2 is silent')", LONG_MS);
  await picture(browser, 'silent');
  return `red after ${(ms / 1000).toFixed(1)} s`;
}

async function grows(browser, cluster) {
  await cluster.orbloom('create', 'growing', '--capacity', '4M', '--fpr', '1%', '--max-capacity', '100M');
  await browser.run(`
    window.seen = [];
    const look = () => {
      const change = [...document.querySelectorAll('.change')].find((one) => one.textContent.includes('growing'));
      const value = change && change.querySelector('.bar').getAttribute('aria-valuenow');
      if (value && window.seen.at(-1) !== Number(value)) {
        window.seen.push(Number(value));
      }
    };
    new MutationObserver(look).observe(document.getElementById('changes'), {subtree: true, childList: true, attributes: true});`);
  await cluster.add('growing', 3600000);
  await browser.until('the bar of the growth moves', 'return window.seen.length > 1', LONG_MS);
  await picture(browser, 'growing');
  const seen = await browser.run('return window.seen');
  expect(seen.every((value, i) => i === 0 || value > seen[i - 1]), `it goes back: ${seen}`);
  return `${seen.join(', ')} %`;
}

/* A coordinator that hangs is seen to, and so is that it goes on. */
async function stale(browser, cluster) {
  cluster.signal('coordinator', 'SIGSTOP');
  try {
    await browser.until('old data look old', "return document.body.className === 'is-stale' && !document.getElementById('stale').hidden", LONG_MS);
    const text = await browser.run("return document.getElementById('stale').textContent");
    expect(/does not answer .* What you see is of \d+/.test(text), text);
    expect(/\d.s old/.test(await browser.run("return document.getElementById('age').textContent")), 'how old they are is not told');
    expect(Number(await browser.run("return getComputedStyle(document.querySelector('main')).opacity")) < 1, 'they do not look old');
    await picture(browser, 'stale');
  } finally {
    cluster.signal('coordinator', 'SIGCONT');
  }
  await browser.until('it is live again', "return document.body.className === '' && document.getElementById('stale').hidden", LONG_MS);
}

async function hidden(browser) {
  await browser.run("Object.defineProperty(document, 'hidden', {value: true, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))");
  await sleep(500);
  const before = await browser.run("return performance.getEntriesByType('resource').length");
  await sleep(5000);
  const after = await browser.run("return performance.getEntriesByType('resource').length");
  await browser.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))");
  expect(after === before, `${after - before} requests while it was hidden`);
  await browser.until('it asks again', `return performance.getEntriesByType('resource').length > ${after}`);
}

/* The coordinator's own page, to which `answers` are told instead of its own. */
async function pretend(browser, cluster, answers, body) {
  const server = createServer(async (request, response) => {
    const name = new URL(request.url, 'http://x').pathname.replace('/api/v1/', '');
    const real = await fetch(cluster.url + request.url);
    const copied = Object.fromEntries([...real.headers].filter(([key]) => /^content-(type|security)/.test(key)));
    response.writeHead(real.status, copied);
    response.end(answers[name] ? JSON.stringify(answers[name]) : Buffer.from(await real.arrayBuffer()));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  try {
    await browser.go(`http://127.0.0.1:${server.address().port}/`);
    await shown(browser);
    await body();
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/* Whatever a cluster might say: the page as it is, on answers in which each text is markup. */
async function markup(browser, cluster) {
  const evil = '"><img src=x onerror="window.ran=1"><script>window.ran=1</script>';
  const site = {name: evil, id: evil, own: false, connected: false, links: 0, round_trip_us: 0, paused: false};
  const answers = {
    status: {coordinator: evil, site: evil, ready: {ok: false, reasons: [{what: evil, why: evil}], left_out: 0},
      nodes: [{id: 1, name: evil, host: evil, zone: evil, endpoint: evil, alive: true, seen_ago_ms: 1, silent_after_ms: 2500, memory_limit_bytes: 10, memory_used_bytes: 1, durable: true, disk_used_bytes: 1,
        replicas_full: 1, replicas_joining: 0, replicas_building: 0, draining: false, replaced_by: evil, slots: 1}],
      routers: [{name: evil, seen_ago_ms: 1}], sums: {ago_ms: 0, filters: 1, capacity: 1, keys_estimate: 1, copy_bytes: 1, filters_lacking: 1, filters_unserved: 0, filters_changing: 1},
      lacking: [{filter: evil, shards: 1, of_shards: 2, fewest_full: 1, replicas: 3, why: evil, remedy: evil}], keys_behind: [evil]},
    sites: {site: evil, sites: [site], filters: [{name: evil, sites: [], awaited: evil}], filters_left: 0, refusals: [{name: evil, site: evil, reason: evil}]},
    changes: {changes: [{filter: evil, what: evil, step: evil, progress: 0.5, slots: 1, awaited: evil}], filters_left: 0},
    filters: {q: '', page: 1, size: 25, total: 1, pages: 1, filters: [{...(await cluster.api('filters?size=1')).filters[0], name: evil, state: evil}]},
  };
  await pretend(browser, cluster, answers, async () => {
    await sleep(500);
    const [ran, images, scripts, text, scroll] = await browser.run("return [window.ran, document.images.length, document.scripts.length, document.body.innerText, document.documentElement.scrollWidth - innerWidth]");
    expect(ran === null, 'a name ran');
    expect(images === 1 && scripts === 1, `${images} images, ${scripts} scripts`);
    expect(text.split(evil).length > 10, 'names are not shown as they are');
    expect(scroll <= 0, 'long names are not broken');
    await browser.resize(390, 844);
    const wide = await browser.run("return [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > 390.5 && one.offsetParent).map((one) => one.tagName + '.' + one.className + '#' + one.id)");
    expect(await browser.run('return document.documentElement.scrollWidth <= 390'), `long names are not broken at 390 pixels: ${wide.slice(0, 8)}`);
    await browser.resize(1280, 900);
  });
}

const rows = (browser, list) => browser.run(`return [...document.getElementById('${list}').children].map((one) => one.innerText.replace(/\\s+/g, ' ').trim())`);

/* Of one kind there may be several, and what a list had before it does not keep. */
async function listsEnd(browser, cluster) {
  const status = {...await cluster.api('status'), lacking: [],
    ready: {ok: false, reasons: [1, 2, 3].map((n) => ({what: 'store', why: `it waits for ${n} s`})), left_out: 0}};
  const sites = {...await cluster.api('sites'), filters: [],
    refusals: ['east', 'west', 'west'].map((site) => ({name: 'crawl', site, reason: 'its settings differ'}))};
  await pretend(browser, cluster, {status, sites}, async () => {
    for (let round = 0; round < 3; round++) {
      status.ready.reasons.forEach((reason, i) => { reason.why = `it waits for ${10 * round + i} s`; });
      await browser.until('what is new', `return document.getElementById('attention').textContent.includes('it waits for ${10 * round + 2} s')`, LONG_MS);
      for (const [list, count] of [['attention', 2], ['waiting', 3]]) { /* The first reason is the verdict. */
        const now = await rows(browser, list);
        expect(now.length === count, `${list}: ${now.length} rows, not ${count}: ${now.join('; ')}`);
      }
    }
    status.ready.reasons = sites.refusals = [];
    await browser.until('the lists are empty', "return document.querySelectorAll('#attention > *, #waiting > *').length === 0", LONG_MS);
  });
}

/* How long a node may say nothing is what the coordinator says: where several share its reports it is longer. */
async function patience(browser, cluster) {
  const status = await cluster.api('status');
  status.nodes.forEach((node, i) => Object.assign(node, {name: `n${i}`, alive: true, slots: 1, silent_after_ms: 4500, seen_ago_ms: i === 0 ? 4600 : 4400}));
  await pretend(browser, cluster, {status}, async () => {
    const bad = await browser.run("return [...document.querySelectorAll('.node.bad .name')].map((one) => one.textContent)");
    expect(bad.join() === 'n0', `silent are: ${bad.join()}`);
  });
}

/* ---- what is asked for ---- */

/* Before anything is stopped: what fails then is meant to. */
async function quiet(browser) {
  const lines = await browser.log('browser');
  expect(lines.length === 0, lines.map((line) => line.message).join('; '));
}

async function nothingElsewhere(browser, url) {
  const asked = (await browser.log('performance')).map((line) => JSON.parse(line.message).message)
    .filter((message) => message.method === 'Network.requestWillBeSent').map((message) => message.params.request.url);
  const elsewhere = asked.filter((one) => !one.startsWith(url + '/'));
  expect(asked.length > 4, 'no requests were seen');
  expect(elsewhere.length === 0, elsewhere.join(', '));
}

async function figures(browser, cluster) {
  const paint = await browser.run("return performance.getEntriesByType('paint').map((one) => [one.name, one.startTime])");
  const ready = await shown(browser);
  const sizes = await browser.run("return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).filter((one) => !one.name.includes('/api/')).map((one) => one.decodedBodySize)");
  const times = [];
  for (let i = 0; i < 40; i++) {
    const since = performance.now();
    await cluster.api('filters?size=50&page=' + (1 + i % Math.ceil(filters / 50)));
    times.push(performance.now() - since);
  }
  times.sort((a, b) => a - b);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  expect(bytes > 10000 && bytes <= 60000, `${bytes} bytes`);
  return `${bytes} bytes; ${paint.map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`).join(', ')}, all shown ${ready.toFixed(0)} ms; ` +
    `filters: median ${times[20].toFixed(1)} ms, slowest ${times[39].toFixed(1)} ms`;
}

/* ---- all of it ---- */

const cluster = await Cluster.start(bin, ['--nodes', '4', '--hosts', '2']);
let browser;
try {
  browser = await Browser.start();
  await browser.resize(1280, 900);
  await browser.log('performance'); /* of its first, own page */
  await create(cluster);
  await sleep(2000);
  await browser.go(cluster.url + '/');
  await shown(browser);
  await check(`of ${filters} filters, ${filters} are told`, () => browser.until('sums', `return document.getElementById('figures').textContent.includes('Filters${filters.toLocaleString('en')}')`, LONG_MS).then(() => ''));
  await check('figures', () => figures(browser, cluster));
  await check('all is shown', () => showsAll(browser));
  await picture(browser, 'light');
  await check('filters are paged by the server', () => pages(browser));
  await check('all is reached by keys', () => keyboard(browser, cluster));
  await check('390 pixels suffice', () => narrow(browser, cluster));
  await check('what is shown has names and words', () => labelled(browser));
  await check('a growth moves its bar', () => grows(browser, cluster));
  await check('nobody is asked while it is hidden', () => hidden(browser));
  await check('nothing is complained of', () => quiet(browser));
  await check('nothing comes from elsewhere', () => nothingElsewhere(browser, cluster.url));
  await check('names are text', () => markup(browser, cluster));
  await check('lists end', () => listsEnd(browser, cluster));
  await check('silent is who the coordinator says', () => patience(browser, cluster));
  await browser.go(cluster.url + '/');
  await shown(browser);
  await check('a node that was killed is red', () => killed(browser, cluster));
  await check('what is old looks old', () => stale(browser, cluster));
} catch (error) {
  console.log(`FAIL  the test itself: ${error.stack}`);
  failed++;
} finally {
  await browser?.stop();
  await cluster.stop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
