// node-redis 4 and 6 with @redis/bloom against a router: SOCKET as the argument, or
// rediss://HOST:PORT and files in $TLS_FOLDER.
const assert = require('assert');
const fs = require('fs');
const { createClient } = require('redis');

const ones = (values) => values.every((value) => Number(value) === 1);

async function commands(client) {
  assert.equal(await client.bf.reserve('node:f', 0.001, 10000), 'OK');
  await assert.rejects(client.bf.reserve('node:f', 0.001, 10000), /item exists/);
  assert.equal(Boolean(await client.bf.add('node:f', 'a')), true);
  assert.equal(Boolean(await client.bf.add('node:f', 'a')), false);
  assert.deepEqual((await client.bf.mAdd('node:f', ['a', 'b', 'c'])).map(Number), [0, 1, 1]);
  assert.deepEqual((await client.bf.mExists('node:f', ['a', 'nobody'])).map(Number), [1, 0]);
  assert.equal(Boolean(await client.bf.exists('node:none', 'a')), false);
  assert.ok(ones(await client.bf.insert('node:made', ['x', 'y'], { CAPACITY: 1000, ERROR: 0.01 })));
  const info = await client.bf.info('node:f');
  assert.equal(Number(info.capacity ?? info.Capacity), 10000);
  assert.equal(await client.bf.card('node:f'), 3);
  assert.equal(await client.type('node:f'), 'MBbloom--');
  await assert.rejects(client.sendCommand(['BF.NOPE']), /unknown command/);
}

async function pipelines(client) {
  const items = Array.from({ length: 2000 }, (_, i) => `item-${i}`);
  await Promise.all(items.map((item) => client.bf.add('node:pipe', item)));
  assert.ok(ones(await Promise.all(items.map((item) => client.bf.exists('node:pipe', item)))));
  const replies = await client.multi().bf.add('node:pipe', 'm').bf.exists('node:pipe', 'm').exec();
  assert.equal(Number(replies[1]), 1);
}

const secure = process.argv[2].startsWith('rediss:');
const file = (name) => fs.readFileSync(`${process.env.TLS_FOLDER}/${name}`);

function where() {
  if (!secure) return { path: process.argv[2] };
  const { hostname, port } = new URL(process.argv[2]);
  return { tls: true, host: hostname, port: Number(port), ca: file('ca.pem') };
}

const certificate = () => (secure ? { cert: file('client.pem'), key: file('client.key') } : {});

// Nobody gets in without a certificate.
async function stranger() {
  const client = createClient({ socket: { ...where(), reconnectStrategy: false } });
  client.on('error', () => {});
  await assert.rejects(client.connect().then(() => client.ping()));
}

// By its certificate it is one user, by a token another one, and each may what its rights say.
async function users() {
  const socket = { ...where(), ...certificate(), reconnectStrategy: false };
  const client = createClient({ socket });
  const reader = createClient({ username: 'reader', password: process.env.TLS_TOKEN, socket });
  await client.connect();
  await reader.connect();
  await assert.rejects(client.bf.add('other', 'a'), /NOPERM/);
  await client.bf.add('node:users', 'a');
  assert.equal(Number(await reader.bf.exists('node:users', 'a')), 1);
  await assert.rejects(reader.bf.add('node:users', 'b'), /NOPERM/);
  assert.equal(await client.del('node:users'), 1);
  for (const one of [client, reader]) await (one.close ? one.close() : one.quit());
}

async function main() {
  if (secure) await stranger();
  if (secure) await users();
  for (const RESP of [2, 3]) {
    const client = createClient({ RESP, socket: { ...where(), ...certificate(), reconnectStrategy: false } });
    client.on('error', (error) => { throw error; });
    await client.connect();
    await commands(client);
    await pipelines(client);
    assert.equal(await client.del(['node:f', 'node:made', 'node:pipe']), 3);
    await (client.close ? client.close() : client.quit());
  }
}

setTimeout(() => { console.error('no end'); process.exit(1); }, 60000).unref();
main().catch((error) => { console.error(error); process.exit(1); });
