// Tests of the first minutes in a browser, on a berthd as `make run` starts it on a simulated cluster: from the address to a
// container, forms, the request for a tier, and many tabs at once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Desk } from './console_desk.mjs';
import { eventually, Platform } from './platform.mjs';

const ada = { email: 'ada@example.org', username: 'ada', password: 'five random words are fine' };
const bob = { email: 'bob@example.org', username: 'bob', password: 'other random words are fine' };
const most_clicks = 6, most_fields = 4;
const tabs_at_once = 20, logs_at_once = 12;
let desk, platform, browser, page, button, link, fill, status;

before(async () => {
  desk = await Desk.open(() => Platform.start(process.env.BERTHD, ['--rate-limits', 'off', '--first-account-admin', 'on', '--registries', 'docker.io,ghcr.io'], 3));
  ({ platform, browser, page, button, link, fill, status } = desk);
});
after(() => desk?.close());

const look = (name) => desk.look(name);
const wrong = (label) => page.locator('.field', { has: page.getByLabel(label, { exact: true }) }).locator('.wrong');
const as_json = (account) => ({ email: account.email, password: account.password });

// Counts what a person does on all pages of the tab: clicks, and fields that something is typed into.
async function count_deeds(tab) {
  const deeds = { clicks: [], fields: new Set() };
  await tab.exposeBinding('berth_deed', (_, kind, what) => {
    if (kind === 'click') deeds.clicks.push(what);
    else deeds.fields.add(what);
  });
  await tab.addInitScript(() => {
    addEventListener('click', (event) => event.isTrusted && window.berth_deed('click', event.target.textContent?.trim() ?? ''), true);
    addEventListener('input', (event) => event.isTrusted && window.berth_deed('field', `${location.pathname} ${event.target.labels?.[0]?.textContent}`), true);
  });
  return deeds;
}

test('from the address to a running container, on one’s own machine', async () => {
  const deeds = await count_deeds(page);
  await page.goto(`${platform.base}/`);
  await link('Create an account').click();
  assert.equal(await page.evaluate('document.activeElement.id'), 'email', 'the first field has the focus');
  await page.keyboard.type(ada.email);
  await fill('Username', ada.username);
  await fill('Password', ada.password);
  await button('Create the account').click();
  await page.waitForURL('**/console');
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await link('Run a container').click();
  await page.getByRole('heading', { level: 1, name: 'New deployment' }).waitFor();
  await page.locator('input[name=tier]:checked').waitFor({ state: 'attached' });
  assert.equal(await page.evaluate('document.activeElement.labels[0].innerText'), 'Image');
  await page.keyboard.type('hello');
  await page.getByText('This means docker.io/library/hello.').waitFor();
  await page.getByText(/It will be at http:\/\/hello\.apps\.localhost/).waitFor();
  await button('Create and start').click();
  await page.getByRole('heading', { level: 1, name: 'hello' }).waitFor();
  await status('Running');
  console.log(`from the address to a container: ${deeds.clicks.length} clicks (${deeds.clicks.join(', ')}), ${deeds.fields.size} fields`);
  assert.ok(deeds.clicks.length <= most_clicks, deeds.clicks.join(', '));
  assert.ok(deeds.fields.size <= most_fields, [...deeds.fields].join(', '));
  assert.equal(deeds.fields.size, 4, [...deeds.fields].join(', '));
  desk.nothing_wrong();
});

test('the first account is the admin, whose requests are approved at once, and that is said; others’ aren’t', async () => {
  const { token, user } = await platform.call('POST', '/api/auth/login', { body: as_json(ada) });
  assert.equal(user.is_admin, true);
  assert.equal(user.email_verified, true);
  const headers = { Authorization: `Bearer ${token}` };
  const made = await platform.call('POST', '/api/oauth/apps', {
    headers, body: { app_name: 'Another', redirect_uris: ['http://127.0.0.1/callback'], allowed_scopes: ['deploy:manage'] },
  });
  assert.equal(made.app.is_approved, false, 'the answer is that of every other berth');
  assert.equal(made.scope_request.status, 'pending');
  const { scope_requests: decided } = await platform.call('GET', `/api/oauth/my-apps/${made.app.id}/scope-requests`, { headers });
  assert.equal(decided[0].status, 'approved');
  await desk.go(`/apps/${made.app.id}`);
  await page.getByText('Approved at once: this berth is for its own machine').waitFor();
  await status('May deploy');
  const olga = await platform.operator('olga', { app_name: 'Game', redirect_uris: ['http://127.0.0.1/callback'], allowed_scopes: ['deploy:manage'] });
  const { scope_requests: waiting } = await platform.call('GET', `/api/oauth/my-apps/${olga.app.id}/scope-requests`, { headers: olga.headers });
  assert.equal(waiting[0].status, 'pending');
  const { user: other } = await platform.call('POST', '/api/auth/login', { body: as_json(olga) });
  assert.equal(other.is_admin, false);
  await platform.call('DELETE', `/api/operator/apps/${made.app.id}`, { headers });
  await desk.go('/admin');
  await page.getByRole('heading', { name: 'Admins need a second factor' }).waitFor();
  await link('Set up an authenticator').click();
  await desk.in_view('#second-factor');
  desk.nothing_wrong();
});

test('where no certificates are issued, no domain is offered, and that is said before anything is paid', async () => {
  const visitor = await desk.tab(await browser.newContext({ locale: 'en-GB' }));
  await visitor.goto(`${platform.base}/`);
  await visitor.getByRole('heading', { name: 'Clear costs' }).waitFor();
  assert.equal(await visitor.getByText('Your own domain').count(), 0);
  await visitor.context().close();
  await desk.go('');
  await link('hello').click();
  await link('Domain').click();
  await page.getByRole('heading', { name: 'This platform serves no custom domains' }).waitFor();
  await look('domain-impossible');
  assert.equal(await link('Choose another tier').count(), 0);
  assert.equal(await link('Domains').count(), 0, 'the menu leaves them out');
  await link('Settings').click();
  await page.getByRole('group', { name: 'Tier' }).getByText('No custom domain').first().waitFor();
  assert.equal(await page.getByText('Custom domains', { exact: true }).count(), 0);
  desk.nothing_wrong();
});

test('ads are in the menu before an app may pay for them, and the page says what to do', async () => {
  await desk.go('/');
  await link('Ads').click();
  await page.getByRole('heading', { name: 'No app may run campaigns' }).waitFor();
  await page.getByText(/Ask for the scope campaigns:manage/).waitFor();
  desk.nothing_wrong();
});

test('all that is wrong is said at once beside its field, and is gone once it is right; nothing typed is lost', async () => {
  await desk.go('/new');
  await fill('Image', 'registry.invalid/hello:1');
  await fill('Port', '8o80');
  await fill('Registry user', 'puller');
  await page.getByLabel('Or paste a .env file').fill('BERTH_SECRET=1');
  // The free place is taken, and the app has no points for another one until somebody who comes back to the tab has sent some.
  await page.getByRole('alert').getByText(/The app needs 1,000 more points/).waitFor();
  assert.ok(await button('Create and start').isDisabled(), 'what is too dear can be sent');
  const app = (await platform.admin('GET', '/api/internal/apps')).apps.find((one) => one.owner === ada.username);
  await platform.admin('POST', '/api/internal/points/mint', { account: { kind: 'app', id: app.id }, amount: 5000, reason: 'test' });
  await page.evaluate(() => dispatchEvent(new Event('focus')));
  await button('Create and start').click();
  for (const label of ['Image', 'Port', 'Registry user', 'Or paste a .env file']) await wrong(label).waitFor();
  assert.match(await wrong('Image').innerText(), /Allowed here: docker\.io, ghcr\.io\. An admin .* changes that list/);
  assert.equal(await page.evaluate('document.activeElement.labels[0].innerText'), 'Image');
  await look('new-deployment-refused');
  const low = page.getByText('Most images fail on port 80:');
  await fill('Port', '80');
  await wrong('Port').waitFor({ state: 'detached' });
  await low.waitFor();
  await fill('Port', '8080');
  await low.waitFor({ state: 'detached' });
  await wrong('Port').waitFor({ state: 'detached' });
  await fill('Registry password', 'secret');
  await wrong('Registry user').waitFor({ state: 'detached' });
  await page.getByLabel('Or paste a .env file').fill('');
  await fill('Image', 'https://hub.docker.com/r/user/hello');
  await wrong('Image').waitFor({ state: 'detached' });
  await page.getByText('This means docker.io/user/hello.').waitFor();
  await page.getByText('hello is taken.').waitFor();
  await link('Points').click();
  await page.getByRole('heading', { level: 1, name: 'Points' }).waitFor();
  await link('Deployments').click();
  await link('New deployment').click();
  assert.equal(await page.getByLabel('Image', { exact: true }).inputValue(), 'https://hub.docker.com/r/user/hello');
  assert.equal(await page.getByLabel('Port', { exact: true }).inputValue(), '8080');
  desk.nothing_wrong();
});

test('an account that isn’t the first verifies its address, comes back, and waits for the approval with what was typed', async () => {
  const own = await desk.tab(await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' }));
  const filled = (label, text) => own.getByLabel(label, { exact: true }).and(own.locator('input, textarea')).fill(text);
  await own.goto(`${platform.base}/console/new`);
  await own.getByRole('link', { name: 'Create one' }).click();
  await filled('Email address', bob.email);
  await filled('Username', ada.username);
  await filled('Password', 'password');
  await own.getByRole('button', { name: 'Create the account' }).click();
  assert.match(await own.locator('#username-wrong').innerText(), /taken/);
  assert.match(await own.locator('#password-wrong').innerText(), /easy to guess|guess/);
  assert.equal(await own.evaluate('document.activeElement.id'), 'username');
  await filled('Username', bob.username);
  await filled('Password', bob.password);
  await own.getByRole('button', { name: 'Create the account' }).click();
  await own.getByRole('heading', { name: 'Verify your address' }).waitFor();
  const mail = await platform.mail(bob.email, 'ev_');
  await own.goto(mail.link);
  await own.getByRole('button', { name: 'Verify my address' }).click();
  await own.waitForURL('**/console/new');
  await own.getByLabel('Image', { exact: true }).waitFor();
  await filled('Image', 'docker.io/library/hello:1');
  await own.getByText('hello is taken.').waitFor();
  await own.getByRole('button', { name: 'Use hello-2' }).click();
  await own.locator('input[name=tier]:checked').waitFor({ state: 'attached' });
  await own.getByRole('button', { name: 'Create and start' }).click();
  await own.getByRole('heading', { name: 'An admin has to approve the app first' }).waitFor();
  assert.equal(await own.getByLabel('Name', { exact: true }).inputValue(), 'hello-2');
  await desk.approve_all();
  await own.getByRole('heading', { level: 1, name: 'hello-2' }).waitFor();
  await own.locator('.head .badge').filter({ hasText: /^Running$/ }).waitFor();
  // A tier that isn't for everybody is a request, which an admin answers.
  await own.getByRole('link', { name: 'Settings', exact: true }).click();
  await own.getByRole('button', { name: 'Ask for Basic' }).click();
  await own.getByText('You have asked for Basic; an admin decides.').first().waitFor();
  const { scope_requests: waiting } = await platform.admin('GET', '/api/internal/scope-requests?status=pending');
  const asked = waiting.find((request) => request.tier);
  assert.deepEqual([asked.tier, asked.owner, asked.requested_scopes], ['basic', 'bob', []]);
  await platform.admin('POST', `/api/internal/scope-requests/${asked.id}/approve`);
  await own.getByRole('button', { name: 'Ask for Basic' }).waitFor({ state: 'detached' });
  await own.getByText('An admin has to allow it').waitFor({ state: 'detached' });
  await own.context().close();
  desk.nothing_wrong(/status of 422/);
});

test(`${tabs_at_once} tabs, ${logs_at_once} of them with logs, are live`, async () => {
  await platform.admin('POST', '/api/internal/deploy/tiers', { name: 'Crowd', slug: 'crowd', memory_limit_mb: 64, cpu_limit_millicores: 50, monthly_cost_points: 0, auto_approve: true });
  const { token } = await platform.call('POST', '/api/auth/login', { body: as_json(ada) });
  const { apps } = await platform.call('GET', '/api/operator/apps', { headers: { Authorization: `Bearer ${token}` } });
  const { app } = await platform.call('POST', `/api/oauth/my-apps/${apps[0].id}/rotate-secret`, { headers: { Authorization: `Bearer ${token}` } });
  const { access_token } = await platform.call('POST', '/api/oauth/token', { body: { grant_type: 'client_credentials', client_id: app.client_id, client_secret: app.client_secret } });
  const headers = { Authorization: `Bearer ${access_token}` };
  const talkers = await Promise.all(Array.from({ length: logs_at_once }, (_, index) => platform.call('POST', '/api/deploy/apps', {
    headers, body: { name: `talk-${index}`, image: 'talking:1', tier: 'crowd' },
  })));
  const tabs = [];
  for (let at = 0; at < tabs_at_once; ++at) {
    const tab = await page.context().newPage();
    tab.setDefaultTimeout(30_000);
    await tab.goto(`${platform.base}/console${at < logs_at_once ? `/deployments/${talkers[at].id}/logs` : ''}`);
    tabs.push(tab);
  }
  const lines_of = async (tab) => Number((await tab.locator('.log .tools .number').innerText()).replace(/\D.*/, ''));
  for (const tab of tabs.slice(0, logs_at_once)) {
    await tab.bringToFront(); // a browser may not draw the others
    await eventually('a log has lines', async () => (await lines_of(tab)) > 0);
    const then = await lines_of(tab);
    await eventually('the log goes on', async () => (await lines_of(tab)) > then);
  }
  await platform.call('POST', `/api/deploy/apps/${talkers[0].id}/stop`, { headers });
  for (const tab of tabs.slice(logs_at_once)) await tab.getByRole('row').filter({ hasText: 'talk-0' }).getByText('Stopped').waitFor();
  for (const tab of tabs) await tab.close();
  desk.nothing_wrong();
});

test('the sample app is one click away, and starts by itself once the app is approved', async () => {
  const cleo = { email: 'cleo@example.org', username: 'cleo', password: 'yet more random words' };
  await platform.call('POST', '/api/auth/register', { body: cleo });
  const { token: session } = await platform.call('POST', '/api/auth/login', { body: as_json(cleo) });
  await platform.call('POST', '/api/auth/self-verify-email', { headers: { Authorization: `Bearer ${session}` } });
  const own = await desk.tab(await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' }));
  await own.goto(`${platform.base}/login?next=/console`);
  await own.getByLabel('Email address').fill(cleo.email);
  await own.getByLabel('Password').fill(cleo.password);
  await own.keyboard.press('Enter');
  await own.getByText(/which an admin may have to approve/).waitFor();
  await own.getByRole('button', { name: 'Run the sample app' }).click();
  await own.getByText('An admin has to approve the app first').waitFor();
  await own.getByText(/starts by itself once an admin has approved the app/).waitFor();
  assert.equal(await own.locator('.checks li').count(), 3);
  await desk.approve_all();
  await own.getByRole('heading', { level: 1, name: 'hello-3' }).waitFor();
  await own.locator('.head .badge').filter({ hasText: /^Running$/ }).waitFor();
  await own.context().close();
  desk.nothing_wrong();
});
