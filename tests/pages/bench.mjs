// What the console costs a browser, printed as a table: how smoothly 1,000 deployments and 100,000 lines of a log scroll,
// how much the heap of a tab grows while an hour's worth of events arrives, and what Lighthouse says of three pages.
// Run by tests/pages/bench.
import { chromium } from 'playwright-core';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, Platform } from './platform.mjs';
import { forms, scores_of } from './scores.mjs';

const many = 1_000; // deployments
const many_lines = 100_000;
const events_of_an_hour = 3_600; // one each second
const events_of_a_restart = 4;
const frames = 300; // that are measured of each scroll
const at_once = 20; // requests
const long_patience = 600_000; // ms
const lighthouse_port = 9_333;

const platform = await Platform.start(process.env.BERTHD);
const profile = mkdtempSync(join(tmpdir(), 'berth-bench-'));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: '/usr/bin/chromium', viewport: { width: 1280, height: 900 }, locale: 'en-GB',
  args: ['--no-sandbox', `--remote-debugging-port=${lighthouse_port}`, '--js-flags=--expose-gc'],
});
const rows = [];
const say = (what, ...figures) => { rows.push([what, ...figures]); console.log([what, ...figures].join(' · ')); };

async function in_groups(count, work) {
  for (let done = 0; done < count; done += at_once)
    await Promise.all(Array.from({ length: Math.min(at_once, count - done) }, (_, index) => work(done + index)));
}

// The times between the frames while something scrolls by a screen's third in each of them.
const scroll = (page, selector) => page.evaluate(async ({ selector, frames }) => {
  const box = selector ? document.querySelector(selector) : document.scrollingElement;
  const next = () => new Promise((done) => requestAnimationFrame(done));
  box.scrollTop = 0;
  await next();
  const times = [];
  let before = await next();
  for (let frame = 0; frame < frames; ++frame) {
    const furthest = box.scrollHeight - box.clientHeight;
    box.scrollTop = Math.round((furthest * frame) / frames);
    const now = await next();
    times.push(now - before);
    before = now;
  }
  return times;
}, { selector, frames });

function say_frames(what, times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part) => `${sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))].toFixed(1)} ms`;
  say(what, `median ${at(0.5)}`, `95 % ${at(0.95)}`, `longest ${at(1)}`, `over 50 ms: ${times.filter((time) => time > 50).length} of ${times.length}`);
}

async function heap_of(page) {
  const session = await page.context().newCDPSession(page);
  for (let i = 0; i < 3; ++i) await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

try {
  const ada = await platform.operator('ada', { app_name: 'My game', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['profile:read', 'deploy:manage', 'app:balance:read'] });
  for (const request of (await platform.admin('GET', '/api/internal/scope-requests?status=pending')).scope_requests)
    await platform.admin('POST', `/api/internal/scope-requests/${request.id}/approve`);
  await platform.admin('POST', '/api/internal/deploy/tiers', { name: 'Crowd', slug: 'crowd', memory_limit_mb: 64, cpu_limit_millicores: 50, monthly_cost_points: 0, auto_approve: true });
  const { access_token: token } = await platform.call('POST', '/api/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: ada.app.client_id, client_secret: ada.app.client_secret },
  });
  const headers = { Authorization: `Bearer ${token}` };
  const ids = [];
  await in_groups(many, async (index) => {
    const made = await platform.call('POST', '/api/deploy/apps', { headers, body: { name: `one-${String(index).padStart(4, '0')}`, image: 'docker.io/library/hello:1', tier: 'crowd' } });
    ids.push(made.id);
  });

  const page = browser.pages()[0] ?? (await browser.newPage());
  await page.goto(`${platform.base}/login?next=/console`);
  await page.getByLabel('Email address').fill(ada.email);
  await page.getByLabel('Password').fill(ada.password);
  await page.keyboard.press('Enter');
  await page.getByText('1,000 deployments').waitFor();
  await eventually('all run', async () => (await platform.call('GET', `/api/deploy/apps/${ids.at(-1)}`, { headers })).deployment.status === 'running', long_patience);
  say_frames(`${many} deployments`, await scroll(page, null));

  const before = await heap_of(page);
  let events = 0;
  await in_groups(events_of_an_hour / events_of_a_restart, async (index) => {
    await platform.call('POST', `/api/deploy/apps/${ids[index % many]}/restart`, { headers });
    events += events_of_a_restart;
  });
  await eventually('the restarts are over', async () => (await page.locator('.badge.busy').count()) === 0, long_patience);
  const after = await heap_of(page);
  say(`heap, after about ${events} events`, `${(before / 1e6).toFixed(1)} MB before`, `${(after / 1e6).toFixed(1)} MB after`, `grown by ${((after - before) / 1e6).toFixed(1)} MB`);

  const line = (index) => `id: 2026-01-31T12:00:00.${String(index).padStart(9, '0')}Z\ndata: ${index} GET /things/${index % 977} 200 in ${index % 83} ms\n\n`;
  // Only the first request gets the lines: the console asks again when a stream ends, and a real berthd then goes on behind
  // the last line, while this stream would begin anew.
  let asked = 0;
  const body = Array.from({ length: many_lines }, (_, index) => line(index)).join('');
  await page.route('**/container-logs*', (route) => { if (asked++ === 0) return route.fulfill({ contentType: 'text/event-stream', body }); });
  await page.goto(`${platform.base}/console/deployments/${ids[0]}/logs`);
  await page.getByText('100,000 lines').waitFor();
  say_frames(`${many_lines} lines of a log`, await scroll(page, '.log .lines'));
  await page.unroute('**/container-logs*');
  await page.goto('about:blank'); // its work isn't what Lighthouse is to measure

  // The start page comes last, for a person who isn't logged in: others are led on from it to the console.
  for (const [name, address] of [['overview', '/console'], ['deployment', `/console/deployments/${ids.at(-1)}`], ['start page', '/']]) {
    if (address === '/') await browser.clearCookies();
    for (const form of Object.keys(forms)) {
      const { scores, findings } = await scores_of(platform.base + address, form, lighthouse_port);
      say(`Lighthouse, ${name}, ${form}`, ...scores.map((one) => one.join(' ')));
      for (const line of findings) console.log(`    ${line}`);
    }
  }
} finally {
  await browser.close();
  await platform.stop();
  rmSync(profile, { recursive: true, force: true });
}
