// Who may do what, in the console: somebody is invited, becomes a member, and sees what their role lets them do; personal
// tokens; and trusts for CI.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Desk } from './console_desk.mjs';
import { look_at, sizes } from './looking.mjs';
import { eventually, Platform } from './platform.mjs';

let desk, platform, page, ada, grace, app, shop, other;
let link, button, in_dialog, said, go, fill;

const look = (...of) => desk.look(...of);
const row = (text) => page.locator('main .list > li', { hasText: text });
const github = 'https://token.actions.githubusercontent.com';

before(async () => {
  desk = await Desk.open(() => Platform.start(process.env.BERTHD, ['--rate-limits', 'off']));
  ({ platform, page, link, button, in_dialog, said, go, fill } = desk);
  ada = await platform.operator('ada', {
    app_name: 'My game', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['profile:read', 'deploy:manage'],
  });
  app = ada.app;
  await desk.approve_all();
  const { access_token: token } = await platform.call('POST', '/api/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: app.client_id, client_secret: app.client_secret },
  });
  const headers = { Authorization: `Bearer ${token}` };
  ({ id: shop } = await platform.call('POST', '/api/deploy/apps', {
    headers, body: { name: 'shop', image: 'docker.io/library/nginx:1', tier: 'free' },
  }));
  await eventually('shop runs', async () =>
    (await platform.call('GET', `/api/deploy/apps/${shop}/status`, { headers })).status === 'running');
  grace = { email: 'grace@example.org', password: 'a long secret of grace' };
  await platform.call('POST', '/api/auth/register', { body: { ...grace, username: 'grace' } });
  const { token: session } = await platform.call('POST', '/api/auth/login', { body: grace });
  await platform.call('POST', '/api/auth/self-verify-email', { headers: { Authorization: `Bearer ${session}` } });
  await desk.log_in(ada);
});
after(() => desk?.close());

// The same actions as those of the desk, in the other person's browser.
async function log_in_grace() {
  const context = await desk.browser.newContext({ viewport: sizes.desktop, locale: 'en-GB', timezoneId: 'Europe/Berlin' });
  other = await desk.tab(context);
  await other.goto(`${platform.base}/login?next=/console`);
  await other.getByLabel('Email address').fill(grace.email);
  await other.getByLabel('Password').fill(grace.password);
  await other.keyboard.press('Enter');
  await other.waitForURL(`${platform.base}/console`);
}
const open_as_grace = (path) => other.goto(`${platform.base}/console${path}`);
const grace_sees = (role, name) => other.getByRole(role, { name, exact: true });

test('somebody is invited with a role', async () => {
  await go(`/apps/${app.id}`);
  await link('Members').click();
  await row('ada').getByText('Owner').waitFor();
  await said('No open invitation');
  await button('Invite somebody').click();
  await fill('Email address or username', 'nobody-of-this-name');
  await page.getByRole('radio', { name: /^Viewer/ }).check();
  await look('access-invite', { fullPage: false });
  await in_dialog('Send the invitation').click();
  await page.getByLabel('Email address or username').and(page.locator('[aria-invalid=true]')).waitFor();
  await fill('Email address or username', 'grace');
  await in_dialog('Send the invitation').click();
  await said('grace is invited.');
  await row('grace').getByText('Viewer').waitFor();
  await row('grace').getByText(/Invited by ada/).waitFor();
  await look('access-members');
  desk.nothing_wrong(/404|422/);
});

test('an invitation is withdrawn, and another one is accepted', async () => {
  await page.getByRole('button', { name: 'Withdraw the invitation of grace' }).click();
  await said('No open invitation');
  await log_in_grace();
  await other.getByText('Your first container', { exact: false }).or(other.getByText('First steps')).first().waitFor();
  assert.equal(await other.getByText('ada invites you to My game').count(), 0);
  await button('Invite somebody').click();
  await fill('Email address or username', grace.email);
  await page.getByRole('radio', { name: /^Viewer/ }).check();
  await in_dialog('Send the invitation').click();
  await row(grace.email).waitFor();
  await other.reload();
  await other.getByText('ada invites you to My game').waitFor();
  await look_at(other, 'console-access-invited');
  await grace_sees('button', 'Accept the invitation to My game').click();
  await other.getByText('You are a member of My game now.').waitFor();
  await other.getByText('ada invites you to My game').waitFor({ state: 'detached' });
  desk.nothing_wrong();
});

test('a viewer looks and changes nothing', async () => {
  await open_as_grace('/apps');
  const tile = other.locator('main li', { hasText: 'My game' });
  await tile.getByText('Viewer').waitFor();
  await tile.getByRole('link', { name: 'My game' }).click();
  await grace_sees('link', 'Members').waitFor();
  for (const hidden of ['Settings', 'Webhooks', 'Variables', 'CI']) assert.equal(await grace_sees('link', hidden).count(), 0, hidden);
  assert.equal(await grace_sees('button', 'New secret').count(), 0);
  await open_as_grace(`/deployments/${shop}`);
  await other.getByText('Changes here need the role Developer; yours is Viewer.').waitFor();
  for (const hidden of ['Stop', 'Restart']) assert.equal(await grace_sees('button', hidden).count(), 0, hidden);
  assert.equal(await grace_sees('link', 'Settings').count(), 0);
  await look_at(other, 'console-access-viewer');
  desk.nothing_wrong();
});

test('with a higher role there is more to do', async () => {
  await page.reload();
  await row('grace').getByRole('button', { name: 'More about grace' }).click();
  await page.getByRole('menuitem', { name: 'Change the role' }).click();
  await page.getByRole('radio', { name: /^Developer/ }).check();
  await in_dialog('Save').click();
  await row('grace').getByText('Developer').waitFor();
  await open_as_grace(`/deployments/${shop}`);
  await grace_sees('button', 'Restart').waitFor();
  await grace_sees('link', 'Settings').waitFor();
  await grace_sees('button', 'Stop').click();
  await other.getByRole('dialog').getByRole('button', { name: 'Stop', exact: true }).click();
  await grace_sees('button', 'Start').waitFor();
  await open_as_grace(`/apps/${app.id}/ci`);
  await other.getByText('Changes here need the role Admin; yours is Developer.').waitFor();
  desk.nothing_wrong();
});

test('giving the app away is for the account that it belongs to, and asks for its name', async () => {
  await row('grace').getByRole('button', { name: 'More about grace' }).click();
  await page.getByRole('menuitem', { name: 'Give the app to them' }).click();
  await said('Give My game to grace?');
  assert.equal(await in_dialog('Give the app to them').isDisabled(), true);
  await in_dialog('Cancel').click();
  await open_as_grace(`/apps/${app.id}/members`);
  await other.getByRole('button', { name: 'More about grace' }).click();
  assert.deepEqual(await other.getByRole('menuitem').allInnerTexts(), ['Leave the app']);
  assert.equal(await other.getByRole('button', { name: 'More about ada' }).count(), 0);
  desk.nothing_wrong();
});

test('a member who is removed sees nothing of the app any more', async () => {
  await row('grace').getByRole('button', { name: 'More about grace' }).click();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  await said('Remove grace?');
  await in_dialog('Remove').click();
  await said('grace is no longer a member.');
  await row('grace').waitFor({ state: 'detached' });
  await open_as_grace(`/apps/${app.id}`);
  await other.getByText('There is no such app').waitFor();
  await open_as_grace(`/deployments/${shop}`);
  await other.getByText('There is no such deployment').waitFor();
  await other.context().close();
  desk.nothing_wrong(/40[34]/);
});

test('a personal token does what it was made for, until it is revoked', async () => {
  await go('/account');
  const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Personal tokens' }) });
  await card.getByText('No personal token').waitFor();
  await card.getByRole('button', { name: 'New token' }).click();
  await fill('Name', 'dashboard at home');
  await page.getByLabel('Where', { exact: true }).selectOption({ label: 'My game › shop' });
  await page.getByLabel('Ends after').selectOption('30');
  await look('access-new-token', { fullPage: false });
  await in_dialog('New token').click();
  await said('This token is shown once.');
  const token = await desk.dialog().locator('code').innerText();
  assert.match(token, /^pat_live_[0-9A-Za-z]{46}$/);
  await look('access-token', { fullPage: false });
  await in_dialog('I have saved it').click();
  const use = async (method, path) =>
    (await fetch(platform.base + path, { method, headers: { Authorization: `Bearer ${token}` } })).status;
  assert.equal(await use('GET', `/api/deploy/apps/${shop}`), 200);
  assert.equal(await use('POST', `/api/deploy/apps/${shop}/restart`), 403);
  await page.reload();
  await row('dashboard at home').getByText(`…${token.slice(-4)}`).waitFor();
  await row('dashboard at home').getByText(/127\.0\.0\.1/).waitFor();
  await look('access-tokens');
  await page.getByRole('button', { name: 'Revoke dashboard at home' }).click();
  await in_dialog('Revoke').click();
  await card.getByText('No personal token').waitFor();
  assert.equal(await use('GET', `/api/deploy/apps/${shop}`), 401);
  desk.nothing_wrong();
});

test('a trust for CI is made of what its tokens say, and deleted', async () => {
  await platform.admin('POST', '/api/internal/issuers', { issuer: github, name: 'GitHub Actions', kind: 'github' });
  await go(`/apps/${app.id}/ci`);
  await said('No trust yet');
  await page.locator('pre', { hasText: app.client_id }).waitFor();
  await button('GitHub Actions').first().click();
  await in_dialog('Trust jobs').click();
  await said('Each claim needs a value.');
  await fill('Value of repository_id', '123456');
  await button('Add a claim').click();
  await fill('Name of claim 3', 'ref');
  await page.getByLabel('Value of ref').last().fill('refs/heads/next');
  await page.getByRole('dialog').getByLabel('shop').check();
  await look('access-new-trust', { fullPage: false });
  await in_dialog('Trust jobs').click();
  await row('123456').getByText('ref = refs/heads/main | refs/heads/next').waitFor();
  await row('123456').getByText('shop', { exact: true }).waitFor();
  await look('access-trusts');
  const { trusts } = await platform.call('GET', `/api/oauth/my-apps/${app.id}/trusts`, { headers: ada.headers });
  assert.deepEqual(trusts.map((one) => [one.issuer, one.audience, one.deployments]), [[github, platform.base, [shop]]]);
  await row('123456').getByRole('button', { name: /^Delete the trust/ }).click();
  await in_dialog('Delete').click();
  await said('No trust yet');
  desk.nothing_wrong();
});
