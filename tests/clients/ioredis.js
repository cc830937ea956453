// ioredis 5 and 6 against a router: SOCKET as the argument, or rediss://HOST:PORT and files in
// $TLS_FOLDER.
const assert = require('assert');
const fs = require('fs');
const Redis = require('ioredis');

const secure = process.argv[2].startsWith('rediss:');
const file = (name) => fs.readFileSync(`${process.env.TLS_FOLDER}/${name}`);

const certificate = () => ({ cert: file('client.pem'), key: file('client.key') });

function open(options) {
  if (!secure) return new Redis({ path: process.argv[2], retryStrategy: null });
  const { hostname, port } = new URL(process.argv[2]);
  return new Redis({
    host: hostname, port: Number(port), username: options.username, password: options.password,
    tls: { ca: file('ca.pem'), ...options.tls }, retryStrategy: null,
  });
}

// Nobody gets in without a certificate.
async function stranger() {
  const client = open({});
  client.on('error', () => {});
  await assert.rejects(client.ping());
}

// By its certificate it is one user, by a token another one, and each may what its rights say.
async function users() {
  const client = open({ tls: certificate() });
  const reader = open({ tls: certificate(), username: 'reader', password: process.env.TLS_TOKEN });
  await assert.rejects(client.call('BF.ADD', 'other', 'a'), /NOPERM/);
  await client.call('BF.ADD', 'io:users', 'a');
  assert.equal(Number(await reader.call('BF.EXISTS', 'io:users', 'a')), 1);
  await assert.rejects(reader.call('BF.ADD', 'io:users', 'b'), /NOPERM/);
  assert.equal(await client.del('io:users'), 1);
  await client.quit();
  await reader.quit();
}

async function main() {
  if (secure) await stranger();
  if (secure) await users();
  const client = open(secure ? { tls: certificate() } : {});

  assert.equal(await client.call('BF.RESERVE', 'io:f', '0.001', '10000'), 'OK');
  await assert.rejects(client.call('BF.RESERVE', 'io:f', '0.001', '10000'), /item exists/);
  assert.equal(Number(await client.call('BF.ADD', 'io:f', 'a')), 1);
  assert.deepEqual((await client.call('BF.MADD', 'io:f', 'a', 'b')).map(Number), [0, 1]);
  const binary = Buffer.from([0, 13, 10, 255]);
  assert.equal(Number(await client.call('BF.ADD', 'io:f', binary)), 1);
  assert.deepEqual((await client.call('BF.MEXISTS', 'io:f', binary, 'nobody')).map(Number), [1, 0]);
  const info = await client.call('BF.INFO', 'io:f');
  assert.equal(info[0], 'Capacity');
  assert.equal(info[1], 10000);

  const pipeline = client.pipeline();
  for (let i = 0; i < 2000; i++) pipeline.call('BF.ADD', 'io:pipe', `item-${i}`);
  for (let i = 0; i < 2000; i++) pipeline.call('BF.EXISTS', 'io:pipe', `item-${i}`);
  const replies = await pipeline.exec();
  assert.equal(replies.length, 4000);
  assert.ok(replies.slice(2000).every(([error, value]) => !error && Number(value) === 1));

  const both = await client.multi().call('BF.ADD', 'io:pipe', 'm').call('BF.EXISTS', 'io:pipe', 'm').exec();
  assert.equal(Number(both[1][1]), 1);
  await assert.rejects(client.call('BF.NOPE'), /unknown command/);
  assert.equal(await client.del('io:f', 'io:pipe'), 2);
  await client.quit();
}

setTimeout(() => { console.error('no end'); process.exit(1); }, 60000).unref();
main().catch((error) => { console.error(error); process.exit(1); });
