// Tests of what an operator does in the console beside deployments: apps, webhooks, domains, ads, the account.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Desk, with_issuer } from './console_desk.mjs';
import { eventually, Platform, totp } from './platform.mjs';

// A red pixel.
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

const many = 300; // deployments; more than the console ever drew at once
let desk, platform, page, ada, token;
let button, link, fill, heading, dialog, in_dialog, said, go;

const as_app = () => ({ Authorization: `Bearer ${token}` });
const look = (...of) => desk.look(...of);

before(async () => {
  desk = await Desk.open(() => Platform.start(process.env.BERTHD, ['--rate-limits', 'off', ...with_issuer]));
  ({ platform, page, button, link, fill, heading, dialog, in_dialog, said, go } = desk);
  ada = await platform.operator('ada', {
    app_name: 'My game', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['profile:read', 'points:read', 'deploy:manage', 'campaigns:manage', 'app:balance:read'],
  });
  await platform.operator('olga', { app_name: 'Another game', redirect_uris: ['http://127.0.0.1/callback'], allowed_scopes: ['profile:read'] });
  await desk.approve_all();
  await platform.admin('POST', '/api/internal/points/mint', { account: { kind: 'app', id: ada.app.id }, amount: 100_000, reason: 'test' });
  await platform.admin('POST', '/api/internal/deploy/tiers', { name: 'Crowd', slug: 'crowd', memory_limit_mb: 64, cpu_limit_millicores: 50, monthly_cost_points: 0, auto_approve: true, custom_domain_allowed: true });
  ({ access_token: token } = await platform.call('POST', '/api/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: ada.app.client_id, client_secret: ada.app.client_secret },
  }));
  await desk.log_in(ada);
  await heading('Nothing runs yet').waitFor();
});
after(() => desk?.close());

test('a webhook is created, changed, tested, gets a new secret, and is deleted', async () => {
  await link('Apps').click();
  await link('My game').click();
  await link('Webhooks').click();
  await heading('No webhook yet').waitFor();
  await look('webhooks-empty');
  await button('New webhook').click();
  await fill('URL', 'ftp://www.example.com');
  await look('webhook-form');
  await in_dialog('New webhook').click();
  const wrong = dialog().locator('.field .wrong');
  await wrong.waitFor();
  assert.equal(await page.getByLabel('URL', { exact: true }).getAttribute('aria-invalid'), 'true');
  assert.equal(await page.getByLabel('URL', { exact: true }).inputValue(), 'ftp://www.example.com', 'what was typed stays');
  await fill('URL', 'https://www.example.invalid/berth');
  await page.getByLabel(/A campaign has ended/).check();
  await page.keyboard.press('Enter');
  await said(/^whsec_/);
  await button('I have saved it').click();
  await heading('https://www.example.invalid/berth').waitFor();
  await button('Send a test').click();
  await said('webhook.test');
  await eventually('the delivery was tried', async () => {
    await button('Refresh').click();
    // Before the next click, which would make the screen wait for another answer.
    const tried = page.locator('main').getByText(/next attempt/).first();
    return tried.waitFor({ timeout: 3000 }).then(() => true, () => false);
  });
  await look('webhooks');
  await button('More about https://www.example.invalid/berth').click();
  await page.getByRole('menuitem', { name: 'Change the webhook' }).click();
  await page.getByLabel(/Status of a deployment/).uncheck();
  await in_dialog('Save').click();
  await dialog().waitFor({ state: 'detached' });
  await page.locator('.tag', { hasText: 'Status of a deployment' }).waitFor({ state: 'detached' });
  await button('More about https://www.example.invalid/berth').click();
  await page.getByRole('menuitem', { name: 'New secret' }).click();
  await in_dialog('New secret').click();
  await said(/^whsec_/);
  await button('I have saved it').click();
  await button('More about https://www.example.invalid/berth').click();
  await page.getByRole('menuitem', { name: 'Delete the webhook' }).click();
  await said(/Nothing more is sent to https:\/\/www.example.invalid\/berth/);
  await in_dialog('Delete the webhook').click();
  await heading('No webhook yet').waitFor();
  desk.nothing_wrong(/status of 422|status of 400/);
});

test('an alert is created for a chat, tested, changed and deleted', async () => {
  await link('Alerts').click();
  await heading('No alert yet').waitFor();
  await look('alerts-empty');
  await button('Discord').click();
  await fill('URL', 'ftp://www.example.com');
  await look('alert-form');
  await in_dialog('New alert').click();
  await dialog().locator('.field .wrong').waitFor();
  await fill('URL', 'https://discord.example.invalid/api/webhooks/1/very-secret');
  await fill('Name', 'Team');
  await in_dialog('New alert').click();
  await heading('Team').waitFor();
  await said(/Discord, discord\.example\.invalid/);
  assert.ok(!(await page.locator('main').innerText()).includes('very-secret'), 'the URL is shown');
  await button('Send a test').click();
  await eventually('the test was tried', async () => {
    await page.reload();
    await heading('Team').waitFor();
    return /The last attempt failed/.test(await page.locator('main').innerText());
  });
  await look('alerts');
  await button('More about Team').click();
  await page.getByRole('menuitem', { name: 'Change the alert' }).click();
  await page.getByLabel(/A deployment has crashed/).uncheck();
  await in_dialog('Save').click();
  await dialog().waitFor({ state: 'detached' });
  await page.locator('.tag', { hasText: 'A deployment has crashed' }).waitFor({ state: 'detached' });
  await button('More about Team').click();
  await page.getByRole('menuitem', { name: 'Delete the alert' }).click();
  await in_dialog('Delete the alert').click();
  await heading('No alert yet').waitFor();
  desk.nothing_wrong(/status of 422|status of 400/);
});

test('an app’s points are plotted by day, and its users are counted', async () => {
  await link('Apps').click();
  await link('My game').click();
  await link('Points and users').click();
  await said('100,000 points');
  await page.locator('.plot canvas').first().waitFor();
  await button('90 days').click();
  await said('Points in the last 30 days');
  await said('Refunds that your users ask for');
  await page.getByText('Days on which points moved (1)').click();
  await page.getByRole('cell', { name: '100,000' }).first().waitFor();
  await look('app-points');
  desk.nothing_wrong();
});

test('a budget is set, raised by somebody who has just logged in, and removed', async () => {
  await button('Set a budget').click();
  await fill('At most, in points', '5000');
  await page.getByLabel('When it is reached').selectOption('stop_all');
  await look('budget-form');
  await in_dialog('Save').click();
  await said('0 of 5,000 points in the last 30 days');
  await said('everything stops');
  await button('Change').click();
  await fill('At most, in points', '6000');
  await in_dialog('Save').click();
  await said('0 of 6,000 points in the last 30 days');
  await look('budgets');
  await button('Remove the budget').click();
  await in_dialog('Remove the budget').click();
  await page.getByText('0 of 6,000 points').waitFor({ state: 'detached' });
  desk.nothing_wrong();
});

test('variables of an app are set and removed; their values are never shown', async () => {
  await link('Variables').click();
  await page.getByLabel('Name of variable 1').fill('LEVEL');
  await page.getByLabel('Value of LEVEL').fill('hidden value');
  await button('Save 1 variable').click();
  await said('Saved. No container is replaced.');
  await page.locator('code', { hasText: 'LEVEL' }).waitFor();
  assert.ok(!(await page.locator('main').innerText()).includes('hidden value'));
  await button('Remove LEVEL').click();
  await button('Save 1 variable').click();
  await page.locator('code', { hasText: 'LEVEL' }).waitFor({ state: 'detached' });
  desk.nothing_wrong();
});

test('what an app is registered with is changed; an error stands beside its field', async () => {
  await link('Settings').click();
  await page.getByLabel('Redirect URIs').fill('https://www.example.com/callback\nhttps://www.example.com/back');
  await page.getByLabel('Origins of its pages').fill('not an origin');
  const save = page.locator('.card', { has: heading('Login with the app') }).getByRole('button', { name: 'Save' });
  await save.click();
  await page.locator('.field', { hasText: 'Origins of its pages' }).locator('.wrong').waitFor();
  await look('app-settings');
  await page.getByLabel('Origins of its pages').fill('https://www.example.com');
  // The note of an earlier change may still be there.
  const saved = page.waitForResponse((answer) => answer.request().method() !== 'GET' && answer.url().includes('/api/operator/apps/'));
  await save.click();
  assert.equal((await saved).status(), 200);
  await said('Saved.');
  await page.reload();
  assert.equal(await page.getByLabel('Origins of its pages').inputValue(), 'https://www.example.com');
  assert.match(await page.getByLabel('Redirect URIs').inputValue(), /\/back$/);
  await page.locator('.card', { has: heading('What the app may do') }).getByLabel(/points:spend/).check();
  await page.locator('.card', { has: heading('What the app may do') }).getByRole('button', { name: 'Save' }).click();
  await link('Overview').click();
  await said('Waiting');
  desk.nothing_wrong(/status of 422|status of 400/);
});

test(`all of ${many} deployments can be scrolled to, and few of them are elements`, async () => {
  for (let made = 0; made < many; made += 10)
    await Promise.all(Array.from({ length: 10 }, (_, index) => platform.call('POST', '/api/deploy/apps', {
      headers: as_app(), body: { name: `one-${String(made + index).padStart(4, '0')}`, image: 'docker.io/library/hello:1', tier: 'crowd' },
    })));
  await go('');
  await said(`${many} deployments`);
  const rows = page.locator('.row-body > [role=row]');
  await rows.first().waitFor();
  const met = new Set();
  for (let y = 0, end = false; !end; y += 600) {
    end = await page.evaluate((to) => { scrollTo(0, to); return scrollY + innerHeight >= document.documentElement.scrollHeight - 1; }, y);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    for (const name of await rows.locator('.of-name a').allInnerTexts()) met.add(name);
    assert.ok((await rows.count()) < 60);
  }
  assert.equal(met.size, many);
  assert.equal(await rows.last().getAttribute('aria-rowindex'), String(many + 1));
  await page.evaluate(() => scrollTo(0, 0));
  await look('many', { fullPage: false });
  await page.getByLabel('Filter by name, image, status or app').fill('one-0123');
  await eventually('one is left', async () => (await rows.count()) === 1);
  await rows.locator('.of-name a').click();
  await heading('one-0123', 1).waitFor();
  desk.nothing_wrong();
});

test('deployments are sorted, labelled and restarted together', async () => {
  await go('');
  const rows = page.locator('.row-body > [role=row]');
  await page.getByLabel('Filter by name, image, status or app').fill('one-001');
  await eventually('ten are left', async () => (await rows.count()) === 10);
  const first = () => rows.first().locator('.of-name a').innerText();
  await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
  await eventually('it is sorted', async () => (await first()) === 'one-0010');
  assert.equal(await page.getByRole('columnheader', { name: 'Name' }).getAttribute('aria-sort'), 'ascending');
  await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
  await eventually('it is sorted the other way', async () => (await first()) === 'one-0019');
  await page.getByLabel('Select one-0019').check();
  await page.getByLabel('Select one-0018').check();
  const bulk = page.getByRole('group', { name: 'What to do with the selected deployments' });
  await bulk.getByText('2 selected').waitFor();
  await look('bulk', { fullPage: false });
  await bulk.getByRole('button', { name: 'Labels' }).click();
  await fill('Labels to set', 'stage=test');
  await in_dialog('Save').click();
  await said('Done for 2 deployments.');
  await page.getByLabel('Labels', { exact: true }).selectOption('stage=test');
  await eventually('two are left', async () => (await rows.count()) === 2);
  await page.getByLabel('Select all that are shown').check();
  await bulk.getByRole('button', { name: 'Restart' }).click();
  await in_dialog('Restart').click();
  await eventually('both were restarted', async () => (await bulk.count()) === 0);
  await page.getByLabel('Labels', { exact: true }).selectOption('');
  await page.getByLabel('Filter by name, image, status or app').fill('');
  desk.nothing_wrong();
});

test('a custom domain is added where all of them are listed', async () => {
  await link('Domains').click();
  await heading('No custom domain yet').waitFor();
  await look('domains-empty');
  await button('Add a domain').click();
  await page.getByLabel('Deployment', { exact: true }).selectOption({ label: 'one-0042 (My game)' });
  await fill('Domain', 'not a domain');
  await in_dialog('Add a domain').click();
  await dialog().locator('.field .wrong').waitFor();
  await fill('Domain', 'www.example.com');
  await in_dialog('Add a domain').click();
  await page.getByRole('cell', { name: /CNAME/ }).first().waitFor();
  await link('Domains').click();
  await link('www.example.com').waitFor();
  await look('domains');
  desk.nothing_wrong(/status of 422|status of 400/);
});

test('a campaign gets a place and viewers, is topped up and ended; packages are bought', async () => {
  const { placement } = await platform.admin('POST', '/api/internal/ads/placements', { name: 'Lobby', surface_type: 'banner', description: 'Above the list of tables' });
  await platform.admin('POST', '/api/internal/ads/pricing', { ad_placement_id: placement.id, base_rate: 5, min_rate: 1, max_rate: 50 });
  await platform.admin('POST', '/api/internal/ads/packages', { name: 'Starter', description: 'For the first steps', discount_percentage: 10, min_impressions: 100 });
  await link('Ads').click();
  await heading('No campaign yet').waitFor();
  await button('New campaign').click();
  await fill('Name', 'Spring');
  await fill('Payment', '1000000');
  await dialog().getByRole('group', { name: 'What it costs' }).getByText(/missing/).waitFor();
  await fill('Country or region', 'DE, AT');
  assert.ok(await in_dialog('New campaign').isDisabled(), 'a campaign that is too dear can be sent');
  await dialog().getByRole('link', { name: 'Where an app’s points come from' }).waitFor();
  await look('campaign-form');
  await fill('Payment', '1000');
  await in_dialog('New campaign').click();
  await heading('Spring', 1).waitFor();
  await said('DE, AT');
  await button('Add a place').click();
  await fill('Share of the budget', '500');
  await in_dialog('Add a place').click();
  await page.getByRole('cell', { name: 'Lobby', exact: true }).waitFor();
  await button('More about Lobby').click();
  await page.getByRole('menuitem', { name: 'Choose viewers' }).click();
  await fill('Value', 'DE');
  await in_dialog('Choose viewers').click();
  await said('Country or region is DE');
  // A creative: what is typed is shown as players will see it, and a bad picture is refused beside its field.
  await page.getByText('No creative yet:').waitFor();
  await button('Add a creative').click();
  await fill('Title', 'Play chess');
  await fill('Link', 'https://chess.example.org/');
  const choose = (name, bytes) => dialog().locator('input[type=file]').setInputFiles({ name, mimeType: 'image/png', buffer: bytes });
  await choose('page.png', Buffer.from('<svg/>'));
  await page.getByText('This file isn’t a picture').waitFor();
  await in_dialog('Add a creative').click();
  await page.getByText('Must be a PNG or a JPEG.').waitFor();
  await choose('pixel.png', Buffer.from(pixel, 'base64'));
  await page.locator('.ad canvas').waitFor();
  await look('creative-form');
  await in_dialog('Add a creative').click();
  const shown = page.locator('.ad img');
  await shown.waitFor();
  assert.equal(await shown.evaluate((image) => image.decode().then(() => image.naturalWidth)), 1);
  await look('campaign');
  await button('Pause').click();
  await button('Resume').waitFor();
  await button('Top up').click();
  await fill('Points', '100');
  await in_dialog('Top up').click();
  await said('990 points');
  await button('End').click();
  await in_dialog('End').click();
  await desk.status('Ended');
  await page.getByRole('navigation', { name: 'Where this page is' }).getByRole('link').click();
  await link('Spring').waitFor();
  await look('campaigns');
  await link('Places and prices').click();
  await page.getByRole('cell', { name: 'Lobby' }).waitFor();
  await look('places');
  await link('Packages').click();
  await button('Buy Starter').click();
  await fill('Name of the campaigns', 'Bundle');
  await fill('Banner', '10');
  await in_dialog('Buy').click();
  await dialog().locator('p.wrong').waitFor();
  await fill('Banner', '200');
  await in_dialog('Buy').click();
  await page.getByRole('cell', { name: 'Starter' }).waitFor();
  await look('packages');
  await link('Audiences').click();
  await button('New audience').click();
  await fill('Name', 'Puzzlers');
  await fill('Kind of game', 'puzzle');
  await in_dialog('New audience').click();
  await page.getByRole('cell', { name: 'Puzzlers' }).waitFor();
  await look('audiences');
  desk.nothing_wrong(/status of 4(22|00|02|09)/);
});

test('points are plotted by day and their history has pages and filters', async () => {
  await link('Points').click();
  await page.getByRole('cell', { name: 'Sign-up bonus' }).waitFor();
  await page.getByLabel('From', { exact: true }).fill('2001-01-01');
  await page.getByLabel('Until', { exact: true }).fill('2001-01-02');
  await heading('Nothing matches').waitFor();
  await look('points-filtered');
  desk.nothing_wrong();
});

test('the shop, an avatar and learning', async () => {
  await platform.admin('POST', '/api/internal/cosmetics', { name: 'Straw hat', category: 'hat', rarity: 'rare', price_points: 3, description: 'Against the sun' });
  await platform.admin('POST', '/api/internal/learning/modules', { title: 'First steps', description: 'What points are', total: 5, points: 10 });
  await link('Shop and learning').click();
  await button('Buy Straw hat').click();
  await dialog().getByText('Left afterwards').waitFor();
  await in_dialog('Buy').click();
  await page.locator('.badge', { hasText: 'Yours' }).waitFor();
  await look('shop');
  await link('Avatar').click();
  await fill('Name', 'Ada the First');
  await page.locator('.card', { has: heading('Your avatar') }).getByRole('button', { name: 'Save' }).click();
  await said('Saved.');
  await page.getByLabel(/Straw hat \(Hat\)/).check();
  await page.locator('.card', { has: heading('What the avatar wears') }).getByRole('button', { name: 'Save' }).click();
  await eventually('it is worn', async () => (await platform.call('GET', '/api/avatars/me', { headers: ada.headers })).avatar.equipped_cosmetics.length === 1);
  await look('avatar');
  await link('Learning').click();
  await page.getByRole('cell', { name: /First steps/ }).waitFor();
  await look('learning');
  desk.nothing_wrong();
});

test('the password is changed, and a second factor is set up and turned off', async () => {
  await link('Account').click();
  await fill('Current password', 'a wrong one');
  await fill('New password', 'short');
  await button('Change the password').click();
  await page.locator('.field', { hasText: 'New password' }).locator('.wrong').waitFor();
  await fill('New password', 'another six random words');
  await button('Change the password').click();
  await page.locator('.field', { hasText: 'Current password' }).locator('.wrong').waitFor();
  assert.equal(await heading('Your login has ended').count(), 0, 'a wrong password isn’t taken for a login that ended');
  await fill('Current password', ada.password);
  await button('Change the password').click();
  await said('Your password was changed');
  await button('End the session of node from 127.0.0.1').waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('New password').inputValue(), '');
  ada.password = 'another six random words';
  await button('Change the address').click();
  await fill('New address', 'a@b@c');
  await dialog().getByLabel('Password').fill(ada.password);
  await in_dialog('Change the address').click();
  await dialog().locator('.field', { hasText: 'New address' }).locator('.wrong').waitFor();
  await fill('New address', 'ada@example.net');
  await in_dialog('Change the address').click();
  await said('A mail is on its way to both addresses.');
  await button('Set up').click();
  const secret = await dialog().locator('code').first().innerText();
  await fill('Code', '000000');
  await dialog().getByLabel('Password').fill(ada.password);
  await in_dialog('Turn it on').click();
  await dialog().locator('.field', { hasText: 'Code' }).locator('.wrong').waitFor();
  await fill('Code', totp(secret));
  await in_dialog('Turn it on').click();
  await heading('Recovery codes').waitFor();
  assert.equal(await dialog().locator('.codes code').count(), 10);
  await look('recovery-codes');
  const code = await dialog().locator('.codes code').first().innerText();
  await button('I have saved it').click();
  await look('account-secured');
  await button('Turn it off').click();
  await dialog().getByLabel('Password').fill(ada.password);
  await fill('Code', code);
  await in_dialog('Turn it off').click();
  await said('The second factor is off.');
  desk.nothing_wrong(/status of 4(01|22|00)/);
});

test('the page of all components', async () => {
  await go('/components');
  await heading('Components', 1).waitFor();
  await page.locator('.plot canvas').first().waitFor();
  await look('components');
  await button('Form').click();
  await in_dialog('Send').click();
  await dialog().locator('.field .wrong').waitFor();
  await page.keyboard.press('Escape');
  await dialog().waitFor({ state: 'detached' });
  desk.nothing_wrong();
});

test('nothing of the administration is shown to somebody who isn’t an admin', async () => {
  await go('/apps');
  await heading('Apps', 1).waitFor();
  assert.equal(await page.getByRole('navigation', { name: 'Administration' }).count(), 0);
  await go('/admin/users');
  await heading('This part is for admins').waitFor();
  assert.deepEqual(desk.seen.filter((text) => text.includes('/api/internal/')), []);
  desk.nothing_wrong();
});

test('an account is deleted with its password', async () => {
  await go('/account');
  await button('Delete the account').click();
  await look('delete-account');
  await dialog().getByLabel('Password').fill('a wrong one');
  await in_dialog('Delete the account').click();
  await dialog().locator('.field .wrong').waitFor();
  await page.keyboard.press('Escape');
  await dialog().waitFor({ state: 'detached' });
  desk.nothing_wrong(/status of 4(01|03|22)/);
});
