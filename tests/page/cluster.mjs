/* A playground for as long as a test runs, and commands to it. */
import {execFile, spawn} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';

const run = promisify(execFile);
const START_MS = 60000;

export class Cluster {
  /* On ports that are free, as chance will have it: another try where they are not. */
  static async start(bin, words) {
    for (let tries = 0; ; tries++) {
      try {
        return await Cluster.at(bin, 20000 + 10 * Math.floor(Math.random() * 1000), words);
      } catch (error) {
        if (tries === 3) {
          throw error;
        }
      }
    }
  }

  static async at(bin, port, words) {
    const self = new Cluster();
    self.bin = bin;
    self.url = `http://127.0.0.1:${port + 1000}`;
    self.process = spawn(join(bin, 'orbloom'), ['playground', '--base-port', String(port), ...words, '--run', 'sh', '-c', 'echo "up $ORBLOOM_DIR"; read stop'],
      {stdio: ['pipe', 'pipe', 'pipe']});
    self.environment = {...process.env, ORBLOOM_ROUTER: `tcp://127.0.0.1:${port + 1}`, ORBLOOM_COORDINATOR: `tcp://127.0.0.1:${port}`};
    self.folder = await new Promise((found, failed) => {
      const timer = setTimeout(() => failed(new Error('the playground does not start')), START_MS);
      let text = '';
      const hear = (bytes) => {
        text += bytes;
        const match = /^up (.*)$/m.exec(text);
        if (match) {
          clearTimeout(timer);
          found(match[1]);
        }
      };
      self.process.stdout.on('data', hear);
      self.process.stderr.on('data', hear);
      self.process.on('exit', () => failed(new Error('the playground has ended: ' + text)));
    });
    return self;
  }

  async orbloom(...words) {
    return (await run(join(this.bin, 'orbloom'), words, {env: this.environment, maxBuffer: 1 << 26})).stdout;
  }

  /* Keys that no other call has added. */
  async add(filter, count) {
    this.added = (this.added || 0) + count;
    await run('sh', ['-c', 'seq "$2" "$3" | "$1/orbloom" add "$4"', 'sh', this.bin, String(this.added - count), String(this.added - 1), filter], {env: this.environment});
  }

  signal(name, signal) {
    process.kill(Number(readFileSync(join(this.folder, name, 'pid'), 'utf8')), signal);
  }

  async api(path) {
    return (await fetch(`${this.url}/api/v1/${path}`)).json();
  }

  async stop() {
    const ended = new Promise((done) => this.process.once('exit', done));
    this.process.stdin.end();
    const timer = setTimeout(() => this.process.kill('SIGKILL'), 20000);
    await ended;
    clearTimeout(timer);
  }
}
