// The console's tab of commands and crons, on the simulated cluster, which runs `echo WORDS`, `sleep N` and `exit N`.
// Its clock is ten times as fast as the page's: `sleep 150` takes 15 seconds.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Desk } from './console_desk.mjs';
import { eventually, Platform } from './platform.mjs';

let desk, platform, page, token, shop;
let link, in_dialog, said, go;

const ask = (method, path, body) => platform.call(method, path, { body, headers: { Authorization: `Bearer ${token}` } });
const runs = async () => (await ask('GET', `/api/deploy/apps/${shop}/runs`)).runs;
const run = (...command) => ask('POST', `/api/deploy/apps/${shop}/runs`, { command });
const row = (text, state) =>
  page.locator('main li', { hasText: text, has: page.locator('.badge', { hasText: new RegExp(`^${state}$`) }) });
const output = () => page.getByRole('log', { name: 'Output', exact: true });
const look = (...of) => desk.look(...of);

before(async () => {
  desk = await Desk.open(() => Platform.start(process.env.BERTHD, ['--rate-limits', 'off']));
  ({ platform, page, link, in_dialog, said, go } = desk);
  const ada = await platform.operator('ada', {
    app_name: 'My game', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['profile:read', 'deploy:manage'],
  });
  await desk.approve_all();
  ({ access_token: token } = await platform.call('POST', '/api/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: ada.app.client_id, client_secret: ada.app.client_secret },
  }));
  ({ id: shop } = await ask('POST', '/api/deploy/apps', {
    name: 'shop', image: 'docker.io/library/nginx:1', tier: 'free',
    crons: [{ name: 'nightly', schedule: '0 3 * * *', zone: 'Europe/Berlin', command: ['echo', 'night'] }],
  }));
  await eventually('shop runs', async () => (await ask('GET', `/api/deploy/apps/${shop}/status`)).status === 'running');
  await desk.log_in(ada);
  await go(`/deployments/${shop}`);
});
after(() => desk?.close());

test('without a run, the tab says how one is made, and shows the crons', async () => {
  await link('Runs').click();
  await said('No command has run');
  await page.locator('main li', { hasText: 'nightly' }).getByText('Europe/Berlin').waitFor();
  await look('runs-empty');
  desk.nothing_wrong();
});

test('a command that runs is followed, and its output is there afterwards', async () => {
  await run('sh', '-c', 'echo working; sleep 150');
  await page.reload();
  await row('echo working', 'Running').waitFor();
  await output().filter({ hasText: 'working' }).waitFor();
  await look('runs-running');
  await row('echo working', 'Done').waitFor();
  await row('echo working', 'Done').getByRole('button', { name: 'Output' }).click();
  await output().filter({ hasText: 'working' }).waitFor();
  desk.nothing_wrong();
});

test('a command that fails says so, and is run again', async () => {
  await run('exit', '7');
  await eventually('it has failed', async () => (await runs())[0].status === 'failed');
  await page.reload();
  await row('exit 7', 'Failed').getByText(/exit code 7/).waitFor();
  await row('exit 7', 'Failed').getByRole('button', { name: 'Run again' }).click();
  await said('Run this command again?');
  await in_dialog('Run again').click();
  await eventually('it has run twice', async () =>
    (await runs()).filter((each) => each.command[0] === 'exit' && each.status === 'failed').length === 2);
  desk.nothing_wrong();
});

test('a command is cancelled after a question', async () => {
  await run('sleep', '600');
  await page.reload();
  const cancel = row('sleep 600', '(Running|Waiting)').getByRole('button', { name: 'Cancel the command' });
  await cancel.click();
  await said('Cancel this command?');
  await in_dialog('Cancel').click();
  await desk.dialog().waitFor({ state: 'detached' });
  await cancel.click();
  await in_dialog('Cancel the command').click();
  await row('sleep 600', 'Cancelled').waitFor();
  assert.equal((await runs())[0].status, 'cancelled');
  desk.nothing_wrong();
});

test('a cron is run now', async () => {
  await page.locator('main li', { hasText: 'nightly' }).getByRole('button', { name: 'Run now' }).first().click();
  await said('Run nightly now?');
  await in_dialog('Run now').click();
  await eventually('it has run', async () => (await runs())[0].kind === 'cron' && (await runs())[0].status === 'succeeded');
  await page.reload();
  await row('echo night', 'Done').getByText(/Cron nightly/).waitFor();
  await look('runs-list');
  desk.nothing_wrong();
});
