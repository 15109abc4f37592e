// Tests of the plots of what a deployment used over time.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Desk } from './console_desk.mjs';
import { eventually } from './platform.mjs';

// Writes a day of samples beside berthd's own, as if it had run since yesterday.
const day_of_samples = `
import math, sqlite3, sys, time
history, deployment = sqlite3.connect(sys.argv[1], timeout=30), sys.argv[2]
(series,) = history.execute("SELECT number FROM series WHERE deployment = ?", [deployment]).fetchone()
now = int(time.time() / 60)
for minute in range(now - 1430, now - 1):
    wave = 1 + math.sin(minute / 120)
    values = [60 + 170 * wave + minute % 7 * 9, (150 + 120 * wave) * 2**20, 1, minute % 500 == 0, 300 * wave + minute % 5 * 20,
              40 * wave, 12 * wave, minute % 97 == 0, 20 + 5 * wave, 60 + 30 * wave, 120 + 90 * wave]
    history.execute(f"INSERT OR REPLACE INTO minutes VALUES ({', '.join('?' * 14)})", [minute // 15, series, minute % 15, *map(int, values)])
history.commit()
`;

let desk, page, deployment;

before(async () => {
  desk = await Desk.open();
  ({ page } = desk);
  const { platform } = desk;
  const ada = await platform.operator('ada', { app_name: 'My game', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['profile:read', 'deploy:manage', 'app:balance:read'] });
  await desk.approve_all();
  const { access_token: token } = await platform.call('POST', '/api/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: ada.app.client_id, client_secret: ada.app.client_secret },
  });
  const headers = { Authorization: `Bearer ${token}` };
  deployment = await platform.call('POST', '/api/deploy/apps', { headers, body: { name: 'site', image: 'docker.io/library/hello:1', tier: 'free' } });
  await eventually('it was measured', async () => {
    const { series } = await platform.call('GET', `/api/deploy/apps/${deployment.id}/metrics/history?metric=cpu`, { headers });
    return series.cpu.some((value) => value !== null);
  }, 90_000);
  const written = spawnSync('python3', ['-c', day_of_samples, join(platform.dir, 'data', 'usage-history.db'), deployment.id], { encoding: 'utf8' });
  assert.equal(written.status, 0, written.stderr);
  await desk.log_in(ada, `/console/deployments/${deployment.id}`);
});
after(() => desk?.close());

test('what a deployment used is plotted, with its limits and its rollouts', async () => {
  await desk.heading('Over time').waitFor();
  const plot = (name) => page.getByRole('img', { name });
  await plot(/^CPU in mCPU, from \d+ to \d+, with a limit of 500, with 1 rollout$/).waitFor();
  await plot(/^Memory in MiB, from \d+ to \d+, with a limit of 512, with 1 rollout$/).waitFor();
  await plot(/^Requests, from /).waitFor();
  await plot(/^Response times in ms, from /).waitFor();
  await eventually('all plots are drawn', async () => (await page.locator('.one-plot canvas').count()) === 5);
  await desk.look('plots');
  desk.nothing_wrong();
});

test('how far back the plots go is chosen, and what they point at is read out', async () => {
  const before = desk.seen.length;
  await desk.button('7 days').click();
  await eventually('a week was asked for', async () => desk.seen.slice(before).some((seen) => /metrics\/history\?from=.*&step=900/.test(seen)));
  await desk.button('1 hour').click();
  const cpu = page.locator('.one-plot').first();
  await cpu.getByText('latest').waitFor();
  await cpu.locator('.u-over').hover();
  await cpu.getByText('latest').waitFor({ state: 'detached' });
  desk.nothing_wrong();
});
