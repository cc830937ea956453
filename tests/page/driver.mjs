/* Chromium by chromedriver's WebDriver, as far as these tests need it, and nothing else. */
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export class Browser {
  /* `dark`: what the user prefers. */
  static async start({dark = false, width = 1280, height = 900} = {}) {
    const self = new Browser();
    self.folder = mkdtempSync(join(tmpdir(), 'page-'));
    self.driver = spawn('chromedriver', ['--port=0'], {stdio: ['ignore', 'pipe', 'inherit']});
    const port = await new Promise((found, failed) => {
      let text = '';
      self.driver.stdout.on('data', (bytes) => {
        text += bytes;
        const match = /started successfully on port (\d+)/.exec(text);
        if (match) {
          found(match[1]);
        }
      });
      self.driver.on('exit', () => failed(new Error('chromedriver has ended: ' + text)));
    });
    self.base = `http://127.0.0.1:${port}`;
    const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-dev-shm-usage',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-default-apps', '--hide-scrollbars',
      '--no-proxy-server', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      `--user-data-dir=${self.folder}`, `--window-size=${width},${height}`];
    if (dark) {
      args.push('--force-dark-mode');
    }
    try {
      const made = await self.call('POST', '/session', {capabilities: {alwaysMatch: {
        browserName: 'chrome',
        'goog:chromeOptions': {args},
        'goog:loggingPrefs': {browser: 'ALL', performance: 'ALL'},
      }}});
      self.base += `/session/${made.sessionId}`;
      await self.cdp('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]});
    } catch (error) {
      self.driver.kill();
      throw error;
    }
    return self;
  }

  async call(method, path, body) {
    const answer = await fetch(this.base + path, {method, body: body === undefined ? undefined : JSON.stringify(body)});
    const {value} = await answer.json();
    if (!answer.ok) {
      throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    }
    return value;
  }

  cdp(cmd, params) {
    return this.call('POST', '/goog/cdp/execute', {cmd, params});
  }

  /* A viewport of exactly that width; a window has its least. */
  async resize(width, height) {
    await this.cdp('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
  }

  go(url) {
    return this.call('POST', '/url', {url});
  }

  run(script, ...args) {
    return this.call('POST', '/execute/sync', {script, args});
  }

  /* What `script` returns once that is true; what else it returns is said in the end. */
  async until(what, script, ms = 10000) {
    const end = Date.now() + ms;
    for (;;) {
      const value = await this.run(script);
      if (value) {
        return value;
      }
      if (Date.now() > end) {
        throw new Error(`not within ${ms} ms: ${what}`);
      }
      await sleep(50);
    }
  }

  async keys(text) {
    const actions = [...text].flatMap((value) => [{type: 'keyDown', value}, {type: 'keyUp', value}]);
    await this.call('POST', '/actions', {actions: [{type: 'key', id: 'keys', actions}]});
  }

  async shot(file) {
    writeFileSync(file, Buffer.from(await this.call('GET', '/screenshot'), 'base64'));
  }

  async log(type) {
    return this.call('POST', '/se/log', {type});
  }

  async stop() {
    try {
      await this.call('DELETE', '');
    } finally {
      this.driver.kill();
      rmSync(this.folder, {recursive: true, force: true, maxRetries: 5});
    }
  }
}
