// The console's tab of images built from source, with the builder of the simulated cluster: it reads the instructions, and
// `RUN sleep` and `RUN exit` last and fail as they say.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Desk } from './console_desk.mjs';
import { eventually, Platform } from './platform.mjs';

const last = 6; // seconds that a build takes, so that it is seen while it runs, also on a machine that is busy
let desk, platform, page, token, shop;
let link, in_dialog, said, go;

// The source of an app with these instructions, as `berth up` sends it.
function archive(instructions) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-source-'));
  try {
    writeFileSync(join(folder, 'Containerfile'), instructions);
    return execFileSync('tar', ['-czf', '-', '-C', folder, 'Containerfile']);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
async function build(...instructions) {
  const answer = await fetch(`${platform.base}/api/deploy/builds?tier=free&name=shop`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-tar' },
    body: archive(['FROM scratch', ...instructions, ''].join('\n')),
  });
  assert.ok(answer.ok, await answer.clone().text());
}
const ask = (method, path, body) => platform.call(method, path, { body, headers: { Authorization: `Bearer ${token}` } });
const newest = async () => (await ask('GET', '/api/deploy/builds')).builds[0];
const is = (status) => eventually(`the build is ${status}`, async () => (await newest()).status === status);
const row = (state) => page.locator('main li', { has: page.locator('.badge', { hasText: new RegExp(`^${state}$`) }) });
const log = () => page.getByRole('log', { name: 'Log', exact: true });
const look = (...of) => desk.look(...of);

before(async () => {
  desk = await Desk.open(() => Platform.start(process.env.BERTHD, ['--rate-limits', 'off', '--simulated-builds', 'on']));
  ({ platform, page, link, in_dialog, said, go } = desk);
  const ada = await platform.operator('ada', {
    app_name: 'My game', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['profile:read', 'deploy:manage'],
  });
  await desk.approve_all();
  ({ access_token: token } = await platform.call('POST', '/api/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: ada.app.client_id, client_secret: ada.app.client_secret },
  }));
  ({ id: shop } = await ask('POST', '/api/deploy/apps', { name: 'shop', image: 'docker.io/library/nginx:1', tier: 'free' }));
  await desk.log_in(ada);
  await go(`/deployments/${shop}`);
});
after(() => desk?.close());

test('without a build, the tab says how one is made', async () => {
  await link('Builds').click();
  await said('No image was built from source');
  await said('an image here and deploys it');
  await look('builds-empty');
  desk.nothing_wrong();
});

test('a build is followed while it runs, and is marked once its image is deployed', async () => {
  await build('RUN echo first', `RUN sleep ${last}`, 'ENV LAST=1');
  await page.reload();
  await row('Building').waitFor();
  await log().filter({ hasText: 'STEP 2/4: RUN echo first' }).waitFor();
  assert.doesNotMatch(await log().innerText(), /STEP 4/, 'what the build has not reached');
  await look('builds-running');
  await row('Done').waitFor();
  await row('Done').getByText('Image built from source', { exact: true }).waitFor();
  // The log of a build that is over is opened by hand.
  await row('Done').getByRole('button', { name: 'Log' }).click();
  await log().filter({ hasText: /STEP 4\/4: ENV LAST=1\s+COMMIT localhost\// }).waitFor();
  await look('builds-log');
  await ask('PATCH', `/api/deploy/apps/${shop}`, { image: (await newest()).image });
  await said('Image built from source, deployed now');
  desk.nothing_wrong();
});

test('a build that fails says why, and the one before it stays deployed', async () => {
  await build('RUN exit 7');
  await is('failed');
  await page.reload();
  await row('Failed').getByText(/failed with exit code 7/).waitFor();
  await row('Done').getByText('Image built from source, deployed now').waitFor();
  await look('builds-failed');
  desk.nothing_wrong();
});

test('a build is cancelled after a question', async () => {
  await build('RUN sleep 600');
  await is('building');
  await page.reload();
  const cancel = row('Building').getByRole('button', { name: 'Cancel the build' });
  await cancel.click();
  await said('Cancel this build?');
  await look('builds-cancel', { fullPage: false });
  await in_dialog('Cancel').click();
  await desk.dialog().waitFor({ state: 'detached' });
  assert.equal((await newest()).status, 'building');
  await cancel.click();
  await in_dialog('Cancel the build').click();
  await row('Cancelled').waitFor();
  await is('cancelled');
  desk.nothing_wrong();
});
