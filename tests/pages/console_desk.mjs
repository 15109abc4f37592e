// The console in a browser: a berthd with a simulated cluster, a tab whose complaints and requests are kept, and what the
// tests of the console do with it.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { look_at, sizes } from './looking.mjs';
import { eventually, Platform, totp } from './platform.mjs';

// A berthd that can order certificates, so that it serves custom domains. Nobody answers at its name servers.
export const with_issuer = ['--cluster-issuer', 'letsencrypt', '--wildcard-tls-secret', 'ingress/wildcard', '--dns-servers', '127.0.0.1:1'];

export class Desk {
  complaints = []; // of the browser
  seen = []; // the addresses and the texts of everything that the console fetched

  static async open(start = () => Platform.start(process.env.BERTHD)) {
    const desk = new Desk();
    mkdirSync('screenshots', { recursive: true });
    desk.platform = await start();
    desk.browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
    desk.page = await desk.tab(await desk.browser.newContext({ viewport: sizes.desktop, locale: 'en-GB', timezoneId: 'Europe/Berlin', acceptDownloads: true }));
    return desk;
  }
  async close() {
    await this.browser?.close();
    await this.platform?.stop();
  }

  // Opens a tab whose complaints and requests are kept.
  async tab(context) {
    const opened = await context.newPage();
    opened.setDefaultTimeout(30_000);
    opened.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(`${message.text()} (${message.location().url})`);
    });
    opened.on('pageerror', (error) => this.complaints.push(error.message));
    opened.on('request', (request) => this.seen.push(request.url() + ' ' + (request.postData() ?? '')));
    opened.on('response', async (response) => {
      if (response.headers()['content-type'] === 'application/json') this.seen.push(await response.text().catch(() => ''));
    });
    await opened.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => console.error(`violates the policy: ${event.violatedDirective}`));
    });
    return opened;
  }

  async approve_all() {
    const { scope_requests: waiting } = await this.platform.admin('GET', '/api/internal/scope-requests?status=pending');
    for (const request of waiting) await this.platform.admin('POST', `/api/internal/scope-requests/${request.id}/approve`);
  }

  // Fails for everything that the browser complained of, except what matches `expected`.
  nothing_wrong(expected = /^$/) {
    const wrong = this.complaints.splice(0).filter((text) => !expected.test(text));
    assert.deepEqual(wrong, []);
  }

  look = (name, options) => look_at(this.page, `console-${name}`, options);

  // Logs in on the hosted page, which leads to that address of the console.
  async log_in({ email, password, secret }, address = '/console') {
    const { page } = this;
    await page.goto(`${this.platform.base}/login?next=${address}`);
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    if (secret) {
      await page.getByLabel('Code').fill(totp(secret));
      await page.keyboard.press('Enter');
    }
    await page.waitForURL(`${this.platform.base}${address}`);
  }

  button = (name) => this.page.getByRole('button', { name, exact: true });
  link = (name) => this.page.getByRole('link', { name, exact: true });
  heading = (name, level) => this.page.getByRole('heading', { name, ...(level ? { level } : {}) });
  dialog = () => this.page.getByRole('dialog');
  in_dialog = (name) => this.dialog().getByRole('button', { name, exact: true });
  fill = (label, text) => this.page.getByLabel(label, { exact: true }).and(this.page.locator('input, textarea')).fill(text);
  status = (text) => this.page.locator('.head .badge').filter({ hasText: new RegExp(`^${text}$`) }).waitFor();
  in_view = (place) =>
    eventually(`${place} is in view`, () => this.page.locator(place).evaluate((one) => {
      const { top, bottom } = one.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    }));
  said = (text) => this.page.getByText(text).first().waitFor();
  go = (path) => this.page.goto(`${this.platform.base}/console${path}`);
}
