// Tests of the console's administration, by an admin with a second factor.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Desk } from './console_desk.mjs';
import { sizes } from './looking.mjs';
import { eventually, former_totp, totp } from './platform.mjs';

let desk, platform, page, ada, olga, deployment;
let button, link, fill, heading, dialog, in_dialog, said, go;

const look = (name) => desk.look(name);
const row = (name) => page.getByRole('row', { name });
const menu_of = (name) => button(`More about ${name}`).click();
const choose = (name) => page.getByRole('menuitem', { name, exact: true }).click();

before(async () => {
  desk = await Desk.open();
  ({ platform, page, button, link, fill, heading, dialog, in_dialog, said, go } = desk);
  ada = await platform.operator('ada', { app_name: 'The platform', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['profile:read'] });
  olga = await platform.operator('olga', { app_name: 'A game', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['profile:read', 'deploy:manage'] });
  const { users } = await platform.admin('GET', '/api/internal/users?q=ada');
  await platform.admin('POST', `/api/internal/users/${users[0].id}/promote`, { is_admin: true });
  await desk.log_in(ada, '/console/admin');
});
after(() => desk?.close());

test('an admin without a second factor is told to set one up; with one just set up, nothing is asked again', async () => {
  await heading('Admins need a second factor').waitFor();
  const { secret } = await platform.call('POST', '/api/auth/totp/setup', { headers: ada.headers });
  await platform.call('POST', '/api/auth/totp/enable', { headers: ada.headers, body: { code: await former_totp(secret), password: ada.password } });
  ada.secret = secret;
  // Set up by a program: this browser's login has proven nothing yet.
  await page.reload();
  await heading('Confirm that it’s you').waitFor();
  await fill('Code', '000000');
  await page.keyboard.press('Enter');
  await dialog().locator('.field .wrong').waitFor();
  assert.equal(await heading('Your login has ended').count(), 0, 'a wrong code isn’t taken for a login that ended');
  await look('admin-proof');
  await fill('Code', totp(secret));
  await page.keyboard.press('Enter');
  await said('A game');
  await button('Reject').first().waitFor();
  assert.equal(await heading('Confirm that it’s you').count(), 0, 'it is asked once');
  const names = await page.getByRole('navigation', { name: 'Administration' }).getByRole('link').allInnerTexts();
  assert.deepEqual(names.map((name) => name.trim()), ['Back to my console', 'Inbox', 'Operators’ apps', 'Deployments', 'Users', 'Economy', 'Tiers', 'Ad market', 'Shop', 'Learning', 'Word list', 'Audit log', 'Admins and secrets', 'Fleet']);
  desk.nothing_wrong(/status of 40[13]/);
});

test('scope requests are approved, and rejected with a reason', async () => {
  await look('admin-requests');
  await button('Reject').click();
  await in_dialog('Reject').click();
  await dialog().locator('.field .wrong').waitFor();
  await dialog().getByRole('textbox').fill('please describe the game first');
  await in_dialog('Reject').click();
  await heading('No request is waiting').waitFor();
  await button('Rejected').click();
  await said('please describe the game first');
  await platform.call('POST', `/api/oauth/my-apps/${olga.app.id}/scope-request`, { headers: olga.headers, body: { requested_scopes: ['deploy:manage'] } });
  await button('Waiting').click();
  await button('Approve').click();
  await said('The request was approved.');
  desk.nothing_wrong(/status of 4(22|00)/);
});

test('an app is promoted, suspended, reactivated, and loses scopes', async () => {
  await link('Operators’ apps').click();
  await row(/A game/).waitFor();
  await look('admin-apps');
  await menu_of('A game');
  await choose('Promote to a tier');
  await page.getByLabel('Tier').selectOption('basic');
  await in_dialog('Promote to a tier').click();
  await said('A game was promoted.');
  const { access_token } = await platform.call('POST', '/api/oauth/token', { body: { grant_type: 'client_credentials', client_id: olga.app.client_id, client_secret: olga.app.client_secret } });
  deployment = await platform.call('POST', '/api/deploy/apps', { headers: { Authorization: `Bearer ${access_token}` }, body: { name: 'game', image: 'docker.io/library/hello:1', tier: 'free' } });
  await menu_of('A game');
  await choose('Suspend');
  await said(/it gets no tokens/);
  await in_dialog('Suspend').click();
  await said('A game is suspended.');
  await menu_of('A game');
  await choose('Reactivate');
  await in_dialog('Reactivate').click();
  await said('A game is active.');
  await menu_of('A game');
  await choose('Revoke scopes');
  await page.getByLabel(/campaigns:manage/).check();
  await in_dialog('Revoke scopes').click();
  await said('The scopes were revoked.');
  desk.nothing_wrong();
});

test('a deployment of anybody is found by filters, stopped, and let go on; nothing is typed but words', async () => {
  await link('Deployments').click();
  await row(/game/).waitFor();
  assert.equal(await row(/game/).getByTitle('docker.io/library/hello:1').innerText(), 'hello:1', 'the image has its short name');
  await look('admin-deployments');
  await page.getByLabel('State').selectOption('errored');
  await button('Filter').click();
  await said('No deployment matches.');
  await page.getByLabel('State').selectOption('');
  await fill('Search', 'olga');
  await button('Filter').click();
  await row(/game/).getByRole('link', { name: 'game', exact: true }).click();
  await heading('game', 1).waitFor();
  await eventually('it has run', async () => (await platform.admin('GET', `/api/internal/deploy/apps/${deployment.id}`)).deployment.status === 'running');
  await look('admin-deployment');
  await button('Suspend').click();
  await in_dialog('Suspend').click();
  await page.locator('.head .badge', { hasText: 'Suspended' }).waitFor();
  await said('Suspended a deployment');
  await button('Reactivate').click();
  await in_dialog('Reactivate').click();
  await page.locator('.head .badge', { hasText: 'Suspended' }).waitFor({ state: 'detached' });
  desk.nothing_wrong();
});

test('what a deployment was charged is given back, after the sum was shown', async () => {
  await platform.admin('POST', '/api/internal/points/mint', { account: { kind: 'app', id: olga.app.id }, amount: 1000, reason: 'test' });
  const { access_token } = await platform.call('POST', '/api/oauth/token', { body: { grant_type: 'client_credentials', client_id: olga.app.client_id, client_secret: olga.app.client_secret } });
  const paid = await platform.call('POST', '/api/deploy/apps', { headers: { Authorization: `Bearer ${access_token}` }, body: { name: 'paid', image: 'docker.io/library/hello:1', tier: 'basic' } });
  await go(`/admin/deployments/${paid.id}`);
  await button('Refund').click();
  await fill('Points', '30');
  await fill('What for', 'The node was down');
  await dialog().getByText('Left afterwards').waitFor();
  await look('admin-refund');
  await in_dialog('Refund').click();
  await said('30 points given back.');
  await said('Refunded a deployment');
  await link('A game').click();
  await heading('A game', 1).waitFor();
  await look('admin-app');
  await page.getByLabel('Details').getByRole('link', { name: 'olga', exact: true }).click();
  await heading('olga', 1).waitFor();
  await row(/paid/).waitFor();
  await look('admin-user');
  await button('Give points').click();
  await fill('Points', '7');
  await fill('What for', 'a test');
  await dialog().getByText('Left afterwards').waitFor();
  await in_dialog('Mint points').click();
  await said('The points were minted.');
  await said('Minted points');
  desk.nothing_wrong();
});

test('⌘K finds anybody’s things', async () => {
  await page.keyboard.press('Control+k');
  await page.getByLabel('Find a user, a deployment, an app or a screen').waitFor();
  await page.keyboard.type('olga');
  await page.getByRole('option', { name: /Deployment of olga/ }).first().waitFor();
  await page.getByRole('option', { name: /^olga\s*User/ }).click();
  await heading('olga', 1).waitFor();
  desk.nothing_wrong();
});

test('users are found, changed, suspended and reactivated', async () => {
  await link('Users').first().click();
  await page.getByLabel('Find by name or email address').fill('olga');
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: /ada@example.org/ }).waitFor({ state: 'detached' });
  await menu_of('olga');
  await choose('Change');
  await page.getByLabel('Tier').selectOption('basic');
  await in_dialog('Save').click();
  await page.getByRole('cell', { name: 'Basic', exact: true }).waitFor();
  await menu_of('olga');
  await choose('Suspend');
  await in_dialog('Suspend').click();
  await page.locator('.badge', { hasText: 'Suspended' }).waitFor();
  await look('admin-users');
  await menu_of('olga');
  await choose('Reactivate');
  await in_dialog('Reactivate').click();
  await page.locator('.badge', { hasText: 'Suspended' }).waitFor({ state: 'detached' });
  desk.nothing_wrong();
});

test('points are minted, the treasury is plotted, the ledger is checked', async () => {
  await link('Economy').click();
  await button('Mint points').click();
  await page.getByRole('dialog', { name: 'Mint points' }).waitFor();
  await fill('Points', '7');
  await fill('What for', 'a test');
  await dialog().getByText('Left afterwards').waitFor();
  await in_dialog('Mint points').click();
  await said('The points were minted.');
  await page.locator('.plot canvas').first().waitFor();
  await button('Check the ledger').click();
  await said('All checks pass');
  await look('admin-economy');
  desk.nothing_wrong(/status of 404/);
});

test('tiers, the market of ads, the shop and learning are filled in by forms', async () => {
  await link('Tiers').click();
  await button('New tier').click();
  await fill('Name', 'Large');
  await fill('Short name', 'Not Allowed');
  await in_dialog('New tier').click();
  await dialog().locator('.field', { hasText: 'Short name' }).locator('.wrong').waitFor();
  await fill('Short name', 'large');
  await look('admin-tier-form');
  await in_dialog('New tier').click();
  await row(/Large/).waitFor();
  await button('Change Large').click();
  await fill('Points for 30 days', '4200');
  await in_dialog('Save').click();
  await page.getByRole('cell', { name: '4,200' }).waitFor();
  // Another price by the hour shows what it will do, before it does it.
  await button('Change Large').click();
  await fill('Points for an hour', '7');
  await in_dialog('Save').click();
  await heading('Change what an hour on Large costs?').waitFor();
  await said('0 deployments of 0 apps');
  await look('admin-tier-price');
  await in_dialog('Cancel').click();
  await heading('Change Large').waitFor();
  assert.equal(await dialog().getByLabel('Points for an hour').inputValue(), '7', 'what was typed stays');
  await in_dialog('Save').click();
  await said('0 deployments of 0 apps');
  await in_dialog('Save').click();
  await row(/Large/).getByRole('cell', { name: '7', exact: true }).waitFor();
  await look('admin-tiers');
  await link('Ad market').click();
  await button('New place').click();
  await fill('Name', 'Lobby');
  await in_dialog('New place').click();
  await page.getByRole('cell', { name: 'Lobby', exact: true }).first().waitFor();
  await button('New price').click();
  await fill('Base', '5');
  await fill('Least', '1');
  await fill('Most', '50');
  await in_dialog('New price').click();
  await eventually('the price is listed', async () => (await page.getByRole('cell', { name: 'Lobby', exact: true }).count()) > 1);
  await button('New package').click();
  await fill('Name', 'Starter');
  await fill('Discount in percent', '10');
  await in_dialog('New package').click();
  await page.getByRole('cell', { name: 'Starter', exact: true }).waitFor();
  await button('New audience').click();
  await fill('Name', 'Puzzlers');
  await fill('Kind of game', 'puzzle');
  await in_dialog('New audience').click();
  await page.getByRole('cell', { name: 'Puzzlers', exact: true }).waitFor();
  await look('admin-market');
  await link('Shop').click();
  await button('New item').click();
  await fill('Name', 'Straw hat');
  await fill('Price in points', '25');
  await in_dialog('New item').click();
  await page.getByRole('cell', { name: 'Straw hat', exact: true }).waitFor();
  await look('admin-shop');
  await link('Learning').click();
  await button('New module').click();
  await fill('Title', 'First steps');
  await fill('Steps', '5');
  await in_dialog('New module').click();
  await page.getByRole('cell', { name: '1. First steps', exact: true }).waitFor();
  await look('admin-learning');
  desk.nothing_wrong(/status of 4(22|00)/);
});

test('the word list is changed, and the audit log says by whom', async () => {
  await link('Word list').click();
  await page.getByLabel('Words', { exact: true }).fill('darn\nheck');
  await button('Save').click();
  await said('Saved.');
  await eventually('the saved words are shown', async () => (await page.getByLabel('Words', { exact: true }).inputValue()) === 'darn\nheck' && (await button('Save').isDisabled()));
  await fill('ID of the message', '01936f5e-7c1a-7000-8000-00000000000c');
  await button('Delete the message').click();
  await page.locator('.field', { hasText: 'ID of the message' }).locator('.wrong').waitFor();
  await look('admin-words');
  await link('Audit log').click();
  await row(/Changed the word list/).filter({ hasText: 'you' }).waitFor();
  await button('New session key').click();
  await in_dialog('New session key').click();
  await row(/Made a new session key/).waitFor();
  await look('admin-audit');
  desk.nothing_wrong(/status of 404/);
});

test('the audit log is filtered, and saved as a file', async () => {
  await fill('Action', 'points.mint');
  await button('Filter').click();
  await row(/Changed the word list/).waitFor({ state: 'detached' });
  await row(/Minted points/).first().waitFor();
  await look('admin-audit-filtered');
  const [download] = await Promise.all([page.waitForEvent('download'), button('Export as CSV').click()]);
  const text = readFileSync(await download.path(), 'utf8').trim().split('\r\n');
  assert.equal(download.suggestedFilename(), 'audit.csv');
  assert.match(text[0], /^id,number,inserted_at,actor,actor_name,action,operation,target_kind,target,/);
  assert.match(text[1], /^"[0-9a-f-]{36}",\d*,"20[^"]*","user:[0-9a-f-]+","[^"]+","points\.mint","mint",,"treasury",/);
  assert.equal(text.length, 4);
  await fill('From', '2099-01-01');
  await button('Filter').click();
  await heading('Nothing matches').waitFor();
  desk.nothing_wrong();
});

test('apps are found by the beginning of their name and by their owner', async () => {
  await link('Operators’ apps').click();
  await fill('Find by name, owner or ID', 'the p');
  await page.keyboard.press('Enter');
  await row(/A game/).waitFor({ state: 'detached' });
  await row(/The platform/).waitFor();
  await fill('Find by name, owner or ID', 'olga');
  await page.keyboard.press('Enter');
  await row(/A game/).waitFor();
  desk.nothing_wrong();
});

test('an open menu stays with its button when the window gets another size, and when the page scrolls', async () => {
  await menu_of('A game');
  const list = page.getByRole('menu', { name: 'More about A game' });
  const offset = async () => {
    const [at, from] = [await list.boundingBox(), await button('More about A game').boundingBox()];
    return { x: Math.round(at.x + at.width - from.x - from.width), y: Math.round(at.y - from.y - from.height) };
  };
  const before = await offset();
  await page.setViewportSize({ width: 1100, height: 420 });
  await eventually('the list has moved', async () => (await offset()).x === before.x);
  await page.mouse.wheel(0, 60);
  await eventually('the page has scrolled', () => page.evaluate('scrollY > 0'));
  await eventually('the list has moved', async () => (await offset()).x === before.x && (await list.isVisible()));
  await page.setViewportSize(sizes.desktop);
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });
  desk.nothing_wrong();
});

test('the fleet is shown: the cluster, what waits, what failed', async () => {
  const { access_token } = await platform.call('POST', '/api/oauth/token', { body: { grant_type: 'client_credentials', client_id: olga.app.client_id, client_secret: olga.app.client_secret } });
  const headers = { Authorization: `Bearer ${access_token}` };
  const at = `/api/deploy/apps/${deployment.id}`;
  await platform.call('POST', `${at}/stop`, { headers });
  await platform.call('PATCH', at, { headers, body: { image: 'docker.io/library/missing:1' } });
  await platform.call('POST', `${at}/restart`, { headers });
  await link('Fleet').click();
  await heading('Certificates').waitFor();
  await heading('Isolation').waitFor();
  await eventually('the failed deployment is listed', async () => {
    await button('Refresh').click();
    // Before the next click, which would make the screen wait for another answer.
    const failed = page.locator('main').getByText(/The cluster can’t get the image/).first();
    return failed.waitFor({ timeout: 3000 }).then(() => true, () => false);
  });
  await look('admin-fleet');
  desk.nothing_wrong();
});
