#!/usr/bin/env node
// Which lines are in a filter? With node-redis or ioredis, and answers of three values.
//
//     ORBLOOM_RESP=ADDRESS[,ADDRESS...] resp_seen.js redis|ioredis check|add FILTER < LINES
//
// ADDRESS: redis://HOST:PORT, rediss://HOST:PORT (TLS), or a router's socket. ORBLOOM_USER and ORBLOOM_TOKEN_FILE
// say who asks; ORBLOOM_CA, ORBLOOM_CERT and ORBLOOM_KEY name files. Exit status 1: of some lines nothing is known.
const fs = require('fs');
const file = (name) => (name ? fs.readFileSync(name) : undefined);
const sleep = require('util').promisify(setTimeout);
const BATCH = 500, PIPELINE = 8, CONNECT_MS = 1000, ANSWER_MS = 6000, PAUSE_MS = 200;
const ACTIONS = {
  check: { command: 'BF.MEXISTS', zero: 'absent', one: 'present' },
  add: { command: 'BF.MADD', zero: 'present', one: 'new' },
};

// An element of an answer. What is not 0 or 1 (RESP 3: false, true) is "unsure": an error, and what a full filter cuts off.
function seen(action, element) {
  if (element === 0 || element === false) return action.zero;
  if (element === 1 || element === true) return action.one;
  return 'unsure';
}

// Where, who and how, for either library: {path} or {host, port}, {username, password}, {ca, ...}.
function settings(address) {
  const { ORBLOOM_USER: username, ORBLOOM_TOKEN_FILE, ORBLOOM_CA, ORBLOOM_CERT, ORBLOOM_KEY } = process.env;
  const who = username ? { username, password: String(file(ORBLOOM_TOKEN_FILE)).trim() } : {};
  if (address.startsWith('/')) return { where: { path: address }, who };
  const { protocol, hostname, port } = new URL(address);
  const tls = { ca: file(ORBLOOM_CA), cert: file(ORBLOOM_CERT), key: file(ORBLOOM_KEY) };
  return { where: { host: hostname, port: Number(port) }, who, tls: protocol === 'rediss:' ? tls : undefined };
}

// Neither library reconnects or repeats by itself here: Routers does, and knows that it did.
const OPEN = {
  redis(address) {
    const { where, who, tls } = settings(address);
    const socket = { ...where, ...(tls && { tls: true, ...tls }), connectTimeout: CONNECT_MS, reconnectStrategy: false };
    const client = require('redis').createClient({ ...who, socket });
    client.on('error', () => {});
    const close = async () => (client.destroy ? client.destroy() : client.disconnect()); // the latter: node-redis 4
    return { ready: client.connect(), send: (words) => client.sendCommand(words), close };
  },
  ioredis(address) {
    const { where, who, tls } = settings(address);
    const how = { tls, connectTimeout: CONNECT_MS, lazyConnect: true, retryStrategy: null };
    const client = new (require('ioredis'))({ ...where, ...who, ...how });
    client.on('error', () => {});
    const send = ([name, ...words]) => client.call(name, ...words);
    return { ready: client.connect(), send, close: async () => client.disconnect() };
  },
};

// All routers know the same filters: one at a time, the next one when it fails. ANSWER_MS is more than resp_timeout.
class Routers {
  constructor(open, addresses) { Object.assign(this, { open, addresses, turn: 0 }); }
  async send(words) {
    let sent = 0; // how often a router may have had it
    for (let tries = 1; ; tries++) {
      const link = (this.link ??= this.open(this.addresses[this.turn++ % this.addresses.length]));
      const late = sleep(ANSWER_MS, undefined, { ref: false }).then(() => { throw new Error('no answer in time'); });
      try {
        const elements = await Promise.race([link.ready.then(() => (sent++, link.send(words))), late]);
        return { elements, repeated: sent > 1 };
      } catch (error) {
        const answered = /^[A-Z_]+ /.test(error.message); // by the router: begins with a code
        if (answered || tries === 2 * this.addresses.length) return { elements: [error] };
        if (this.link === link) this.close();
        await sleep(PAUSE_MS);
      }
    }
  }

  close() { this.link?.close().catch(() => {}); this.link = undefined; }
}

async function ask(routers, action, filter, items) {
  const { elements, repeated } = await routers.send([action.command, filter, ...items]);
  const cause = elements.find((element) => element instanceof Error);
  if (cause) console.error(cause.message);
  // What was added twice may be there from the first time.
  const known = (said) => (repeated && action === ACTIONS.add && said === 'present' ? 'unsure' : said);
  return items.map((item, at) => `${known(seen(action, elements[at]))} ${item}`);
}

async function main([library, what, filter]) {
  const routers = new Routers(OPEN[library], process.env.ORBLOOM_RESP.split(','));
  const lines = fs.readFileSync(0, 'utf8').split('\n').filter(Boolean);
  while (lines.length) {
    const wave = [];
    while (lines.length && wave.length < PIPELINE) wave.push(ask(routers, ACTIONS[what], filter, lines.splice(0, BATCH)));
    const said = (await Promise.all(wave)).flat().join('\n');
    console.log(said);
    if (/^unsure /m.test(said)) process.exitCode = 1;
  }
  routers.close();
}
main(process.argv.slice(2)).catch((error) => { console.error(error.message); process.exitCode = 2; });
