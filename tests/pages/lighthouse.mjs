// What Lighthouse says of the pages that somebody sees first: the start page, the login, and the console after it. Ends with 1
// if a score is below the least. Run by `tests/pages/bench BERTHD BUILD_DIR lighthouse.mjs`.
import { chromium } from 'playwright-core';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, Platform } from './platform.mjs';
import { scores_of } from './scores.mjs';

const least = 95; // of each score
const debugging_port = 9_334;

const platform = await Platform.start(process.env.BERTHD);
const profile = mkdtempSync(join(tmpdir(), 'berth-lighthouse-'));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: '/usr/bin/chromium', locale: 'en-GB', args: ['--no-sandbox', `--remote-debugging-port=${debugging_port}`],
});
let low = 0;
try {
  const ada = await platform.operator('ada', { app_name: 'My game', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['deploy:manage'] });
  for (const request of (await platform.admin('GET', '/api/internal/scope-requests?status=pending')).scope_requests)
    await platform.admin('POST', `/api/internal/scope-requests/${request.id}/approve`);
  const { access_token: token } = await platform.call('POST', '/api/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: ada.app.client_id, client_secret: ada.app.client_secret },
  });
  const headers = { Authorization: `Bearer ${token}` };
  const { id } = await platform.call('POST', '/api/deploy/apps', { headers, body: { name: 'hello', image: 'docker.io/library/hello:1', tier: 'free' } });
  await eventually('it runs', async () => (await platform.call('GET', `/api/deploy/apps/${id}`, { headers })).deployment.status === 'running');
  for (const address of ['/', '/login', '/console']) {
    if (address === '/console') {
      const page = browser.pages()[0];
      await page.goto(`${platform.base}/login?next=/console`);
      await page.getByLabel('Email address').fill(ada.email);
      await page.getByLabel('Password').fill(ada.password);
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'hello', exact: true }).waitFor();
      await page.goto('about:blank'); // its work isn't what Lighthouse is to measure
    }
    const { scores, findings } = await scores_of(platform.base + address, 'desktop', debugging_port);
    console.log([address, ...scores.map((one) => one.join(' '))].join(' · '));
    for (const line of findings) console.log(`    ${line}`);
    low += scores.filter(([, score]) => score < least).length;
  }
  console.log(low ? `${low} scores are below ${least}` : `no score is below ${least}`);
} finally {
  await browser.close();
  await platform.stop();
  rmSync(profile, { recursive: true, force: true });
}
process.exitCode = low ? 1 : 0;
