// ioredis 5 and 6 against a router: SOCKET as the argument, or rediss://HOST:PORT and files in
// $TLS_FOLDER.
const assert = require('assert');
const fs = require('fs');
const Redis = require('ioredis');

const secure = process.argv[2].startsWith('rediss:');
const file = (name) => fs.readFileSync(`${process.env.TLS_FOLDER}/${name}`);

function open(certificate) {
  if (!secure) return new Redis({ path: process.argv[2], retryStrategy: null });
  const { hostname, port } = new URL(process.argv[2]);
  return new Redis({
    host: hostname, port: Number(port), tls: { ca: file('ca.pem'), ...certificate }, retryStrategy: null,
  });
}

// Nobody gets in without a certificate.
async function stranger() {
  const client = open({});
  client.on('error', () => {});
  await assert.rejects(client.ping());
}

async function main() {
  if (secure) await stranger();
  const client = open(secure ? { cert: file('client.pem'), key: file('client.key') } : {});

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
