// Runs berthd as a child process; has the API calls of admins and programs, and an authenticator (TOTP).
import { spawn } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, existsSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const patience = 30_000;

export async function eventually(what, look, patient_for = patience) {
  const end = Date.now() + patient_for;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`${what}: not within ${patient_for} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Platform {
  static async start(program, flags = ['--rate-limits', 'off'], speed = 10) {
    const platform = new Platform();
    platform.dir = mkdtempSync(join(tmpdir(), 'berth-pages-'));
    const data = join(platform.dir, 'data');
    const log = openSync(join(platform.dir, 'log'), 'a');
    platform.process = spawn(
      program,
      ['--data-dir', data, '--listen', '127.0.0.1:0', '--metrics-listen', '127.0.0.1:0', '--simulated-speed', String(speed), ...flags],
      { stdio: ['ignore', log, log] },
    );
    const address = join(data, 'berthd.addr');
    await eventually('berthd starts', () => existsSync(address));
    platform.base = `http://${readFileSync(address, 'utf8').trim()}`;
    await eventually('berthd answers', () => fetch(`${platform.base}/health`).then((r) => r.ok, () => false));
    platform.secret = readFileSync(join(data, 'internal-secret'), 'utf8').trim();
    return platform;
  }

  // A berthd that somebody else has started and ends.
  static at(base, data) {
    const platform = new Platform();
    platform.base = base;
    platform.secret = readFileSync(join(data, 'internal-secret'), 'utf8').trim();
    return platform;
  }

  async stop() {
    if (!this.process) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGTERM');
    await ended;
    rmSync(this.dir, { recursive: true });
  }

  async call(method, path, { body, headers = {} } = {}) {
    const answer = await fetch(this.base + path, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }
  admin(method, path, body) {
    return this.call(method, path, { body, headers: { 'x-internal-secret': this.secret } });
  }

  // Returns the newest mail to the address with a token that has this prefix.
  async mail(to, prefix) {
    const { messages } = await this.admin('GET', '/api/internal/outbox');
    const mail = messages.find((m) => m.to === to && m.token.startsWith(prefix));
    if (!mail) throw new Error(`no mail ${prefix} to ${to}`);
    return { ...mail, link: /https?:\S+/.exec(mail.body)[0] };
  }

  // Creates a verified account with an app.
  async operator(name, app) {
    const account = { email: `${name}@example.org`, password: `a long secret of ${name}` };
    await this.call('POST', '/api/auth/register', { body: { ...account, username: name } });
    const { token } = await this.call('POST', '/api/auth/login', { body: account });
    const headers = { Authorization: `Bearer ${token}` };
    await this.call('POST', '/api/auth/self-verify-email', { headers });
    const made = await this.call('POST', '/api/oauth/apps', { headers, body: app });
    return { ...account, headers, app: made.app };
  }
}

// The app's side of the authorization: it listens for the redirect of the browser.
export class App {
  static async start() {
    const app = new App();
    app.came = [];
    app.server = createServer((request, response) => {
      const url = new URL(request.url, 'http://127.0.0.1');
      if (url.pathname === '/callback')
        app.came.push({ parameters: Object.fromEntries(url.searchParams), headers: request.headers });
      response.setHeader('Content-Type', 'text/html');
      response.end('<!DOCTYPE html><html lang="en"><title>The app</title><h1>Back in the app</h1>');
    });
    await new Promise((resolve) => app.server.listen(0, '127.0.0.1', resolve));
    app.redirectUri = `http://127.0.0.1:${app.server.address().port}/callback`;
    return app;
  }
  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
  authorization(base, clientId, changes = {}) {
    this.verifier = randomBytes(32).toString('base64url');
    this.state = randomBytes(8).toString('hex');
    const parameters = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: this.redirectUri,
      scope: 'profile:read points:read',
      state: this.state,
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...changes,
    };
    return `${base}/api/oauth/authorize?${new URLSearchParams(parameters)}`;
  }
}

// Returns the code of RFC 6238 (TOTP).
// A code of 30 seconds ago is accepted if no other step of 30 seconds begins before it is sent.
export async function former_totp(base32) {
  const left = 30_000 - (Date.now() % 30_000);
  if (left < 10_000) await new Promise((resolve) => setTimeout(resolve, left));
  return totp(base32, Date.now() / 1000 - 30);
}
export function totp(base32, seconds = Date.now() / 1000) {
  const bits = [...base32].map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(seconds / 30)));
  const hash = createHmac('sha1', key).update(counter).digest();
  const offset = hash.at(-1) & 15;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
