// Tests of the console in a browser, against a berthd with a simulated cluster: node --test console.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Desk, with_issuer } from './console_desk.mjs';
import { eventually, Platform } from './platform.mjs';

const ada = { email: 'ada@example.org', username: 'ada', password: 'five random words are fine' };
const first_view_limit = 100_000;

let desk, platform, browser, page, button, link, fill, status, ours, app_id;
let seen = [];
const theirs = {}; // another tenant

before(async () => {
  desk = await Desk.open(() => Platform.start(process.env.BERTHD, ['--rate-limits', 'off', ...with_issuer]));
  ({ platform, browser, page, seen, button, link, fill, status } = desk);
  const olga = await platform.operator('olga', {
    app_name: 'Another game', redirect_uris: ['http://127.0.0.1/callback'], allowed_scopes: ['profile:read', 'deploy:manage'],
  });
  await desk.approve_all();
  const { access_token: token } = await platform.call('POST', '/api/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: olga.app.client_id, client_secret: olga.app.client_secret, scope: 'deploy:manage' },
  });
  const made = await platform.call('POST', '/api/deploy/apps', {
    headers: { Authorization: `Bearer ${token}` }, body: { name: 'theirs', image: 'docker.io/library/hello:1', tier: 'free' },
  });
  Object.assign(theirs, { app: olga.app.id, client: olga.app.client_id, deployment: made.id });
});
after(() => desk?.close());

const approve_all = () => desk.approve_all();
const look = (name) => desk.look(name);
const nothing_wrong = (expected) => desk.nothing_wrong(expected);
const tab = (context) => desk.tab(context);

// By keyboard alone: goes on with Tab until the thing of that name has the focus.
async function tab_to(name) {
  for (let pressed = 0; pressed < 80; ++pressed) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const thing = document.activeElement;
      return thing.getAttribute('aria-label') ?? thing.labels?.[0]?.innerText ?? thing.innerText;
    });
    if (focused?.trim() === name) return;
  }
  assert.fail(`no Tab leads to ${name}`);
}

test('the start page needs no script and leads to a login, and that to the console', async () => {
  const bare = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await bare.goto(`${platform.base}/`);
  assert.match(await bare.locator('h1').innerText(), /Run containers/);
  await page.goto(`${platform.base}/`);
  assert.match(await page.locator('.prices').innerText(), /1,000 points[\s\S]*1 GB memory/);
  await look('start');
  await page.getByRole('link', { name: 'Create an account' }).click();
  await fill('Email address', ada.email);
  await fill('Username', ada.username);
  await fill('Password', ada.password);
  await page.getByRole('button', { name: 'Create the account' }).click();
  await page.getByRole('link', { name: `Verify ${ada.email}` }).click();
  await page.getByRole('button', { name: 'Verify my address' }).click();
  await page.getByRole('heading', { level: 1, name: 'Deployments' }).waitFor();
  // Whoever isn't logged in comes back to where they wanted to go. The page that still reads has ended before.
  await page.goto('about:blank');
  await page.context().clearCookies();
  await page.goto(`${platform.base}/console/apps`);
  await fill('Email address', ada.email);
  await fill('Password', ada.password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Apps' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/console/apps');
  nothing_wrong();
});

test('what the browser loads first is small, and cached for good under a name of its own', async () => {
  const cookie = (await page.context().cookies()).find((one) => one.name.endsWith('berth_session'));
  const html = await fetch(`${platform.base}/console`, { headers: { Cookie: `${cookie.name}=${cookie.value}`, 'Accept-Encoding': 'gzip' } });
  assert.match(html.headers.get('content-security-policy'), /script-src 'self'; style-src 'self'/);
  assert.doesNotMatch(html.headers.get('content-security-policy'), /unsafe/);
  const text = await html.text();
  const files = [...text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+\.(?:js|css))"/g)].map((match) => match[1]);
  assert.ok(files.length >= 2);
  let total = Number(html.headers.get('content-length'));
  for (const file of files) {
    const answer = await fetch(platform.base + file, { headers: { 'Accept-Encoding': 'gzip' } });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-encoding'), 'gzip');
    assert.match(answer.headers.get('cache-control'), /immutable/);
    total += Number(answer.headers.get('content-length'));
  }
  assert.ok(total <= first_view_limit, `${total} bytes`);
  const brotli = await fetch(platform.base + files[0], { headers: { 'Accept-Encoding': 'gzip;q=0.5, br' } });
  assert.equal(brotli.headers.get('content-encoding'), 'br');
  const plain = await fetch(platform.base + files[0], { headers: { 'Accept-Encoding': 'identity' } });
  assert.equal(plain.headers.get('content-encoding'), null);
  assert.equal((await fetch(`${platform.base}/console/assets/none.js`)).status, 404);
});

test('an app is created, and its approval is seen without a reload', async () => {
  await page.goto(`${platform.base}/console`);
  await page.getByRole('heading', { name: 'Nothing runs yet' }).waitFor();
  await look('empty');
  await link('Apps').click();
  await page.getByRole('link', { name: 'Create an app' }).last().click();
  await look('new-app');
  await fill('Name', 'My game');
  await page.locator('main').getByRole('button', { name: 'Create an app' }).click();
  await page.getByRole('heading', { name: 'Your app’s keys' }).waitFor();
  assert.match(await page.locator('main').innerText(), /client_/);
  await button('I have saved it').click();
  await status('Awaiting approval');
  await look('app');
  app_id = new URL(page.url()).pathname.split('/').at(-1);
  await approve_all();
  await status('May deploy');
  nothing_wrong();
});

test('a deployment is created by keyboard and becomes running while one looks on', async () => {
  await page.goto(`${platform.base}/console`);
  await page.getByRole('heading', { name: 'Nothing runs yet' }).waitFor();
  await tab_to('Run a container');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'New deployment' }).waitFor();
  await look('new-deployment');
  assert.equal(await page.evaluate('document.activeElement.labels[0].innerText'), 'Image', 'the first field has the focus');
  await page.keyboard.type('docker.io/library/hello:1');
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'hello');
  await page.getByLabel('Or paste a .env file').fill('# comment\nLOG_LEVEL=debug\nexport GREETING="hello world"\n');
  await page.locator('input[name=tier]:checked').waitFor({ state: 'attached' });
  await page.getByLabel('Image', { exact: true }).focus();
  const before_it = seen.length;
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'hello' }).waitFor();
  await status('Running');
  ours = new URL(page.url()).pathname.split('/').at(-1);
  await page.getByText('First rollout hello:1').first().waitFor();
  const asked = seen.slice(before_it).filter((text) => text.startsWith(platform.base) && text.includes('/api/'));
  assert.ok(asked.length <= 14, `few requests, as nothing polls:\n${asked.join('\n')}`);
  await look('running');
  nothing_wrong();
});

test('variables are pasted, replaced and removed; their values are never shown', async () => {
  await link('Variables').click();
  await page.getByText('GREETING').waitFor();
  assert.ok(!(await page.locator('main').innerText()).includes('hello world'));
  await button('Add a variable').click();
  await page.getByLabel('Name of variable 3').fill('EXTRA');
  await page.getByLabel('Value of EXTRA').fill('1');
  await button('Save 1 variable').click();
  await page.locator('code', { hasText: 'EXTRA' }).waitFor();
  await button('Text').click();
  const text = page.getByLabel('Variables as the text of a .env file');
  assert.equal(await text.inputValue(), 'EXTRA=••••••\nGREETING=••••••\nLOG_LEVEL=••••••');
  await text.fill('EXTRA=2\nGREETING=••••••\n');
  await page.locator('.difference', { hasText: '~EXTRA' }).filter({ hasText: '−LOG_LEVEL' }).waitFor();
  await button('Table').click();
  await look('variables-changed');
  await button('Save 2 variables').click();
  await page.locator('code', { hasText: 'LOG_LEVEL' }).waitFor({ state: 'detached' });
  await status('Running');
  await look('variables');
  nothing_wrong();
});

test('a failing image says why and how to fix it, and is rolled back', async () => {
  await link('Settings').click();
  await fill('Image', 'docker.io/library/crash:1');
  await fill('Port', '3001');
  await look('settings');
  await button('Save and roll out').click();
  const banner = page.locator('.banner', { has: page.getByRole('heading', { name: /The new container fails/ }) });
  await banner.waitFor();
  // Which image serves, which one failed, with which settings, where it stopped, its last lines, and the ways on.
  assert.equal(await banner.getByTitle('docker.io/library/hello:1').innerText(), 'hello:1');
  assert.equal(await banner.getByTitle('docker.io/library/crash:1').innerText(), 'crash:1');
  await banner.locator('.difference', { hasText: 'Port' }).getByText('3001').waitFor();
  await banner.getByText('Step 3 of 5: Start').waitFor();
  await banner.getByRole('heading', { name: 'The container’s last lines' }).waitFor();
  await banner.getByRole('button', { name: 'Try again' }).waitFor();
  await banner.getByRole('button', { name: 'Roll back to hello:1' }).waitFor();
  await look('failed');
  await link('Overview').click();
  const containers = page.locator('.card', { has: page.getByRole('heading', { name: 'Containers' }) });
  await containers.getByText('previous version').waitFor();
  await containers.locator('li', { hasText: 'new version' }).getByRole('link', { name: 'Log' }).click();
  await page.locator('.log .line', { hasText: 'simulated crash' }).first().waitFor();
  assert.match(await page.getByLabel('Container', { exact: true }).locator('option:checked').innerText(), /crash:1/);
  await page.getByLabel('Container', { exact: true }).selectOption({ index: 0 });
  await link('History').click();
  await page.locator('.events li', { hasText: 'Failed' }).locator('.difference', { hasText: 'hello:1' }).getByText('crash:1').waitFor();
  await look('history');
  await button('More actions').focus();
  await page.keyboard.press('Enter');
  await page.locator('[role=menuitem]:focus').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('docker.io/library/hello:1', { exact: true }).waitFor();
  await look('rollback');
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back to hello:1' }).click();
  await page.getByRole('heading', { name: /The new container fails/ }).waitFor({ state: 'detached' });
  await status('Running');
  nothing_wrong();
});

test('it is stopped by mouse, started again, and restarted by keyboard', async () => {
  await button('Stop').click();
  await look('confirm');
  await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
  await status('Stopped');
  await button('Start').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
  await status('Running');
  await button('Restart').focus();
  await page.keyboard.press('Enter');
  await tab_to('Restart');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await status('Running');
  await page.keyboard.press('Tab');
  nothing_wrong();
});

test('with another tier, a domain of one’s own shows the records to set', async () => {
  await platform.admin('POST', `/api/internal/apps/${app_id}/promote`, { tier: 'basic' });
  await link('Domain').click();
  await page.getByRole('heading', { name: /has no custom domains/ }).waitFor();
  await link('Choose another tier').click();
  await desk.in_view('#tier');
  await page.getByLabel(/Basic/).check({ force: true });
  await button('Change the tier').click();
  const in_dialog = page.getByRole('dialog');
  await in_dialog.getByText(/^[\d,]+ points missing$/).waitFor();
  assert.ok(await in_dialog.getByRole('button', { name: 'Change the tier' }).isDisabled());
  await look('tier-too-dear');
  await in_dialog.getByRole('link', { name: 'Where an app’s points come from' }).click();
  await page.getByText(/^The points of an app come from what users spend in it/).waitFor();
  await platform.admin('POST', '/api/internal/points/mint', { account: { kind: 'app', id: app_id }, amount: 5000, reason: 'test' });
  await page.goBack();
  await page.getByLabel(/Basic/).check({ force: true });
  await button('Change the tier').click();
  const sum = page.getByRole('dialog').getByRole('group', { name: 'What it costs' });
  await sum.getByText(/points every 30 days, next on/).waitFor();
  await look('tier-sum');
  assert.match(await sum.innerText(), /Deducted now\s+[\d,]+ points[\s\S]*The app has\s+5,000 points\s+Left afterwards\s+[\d,]+ points/);
  await page.getByRole('dialog').getByRole('button', { name: 'Change the tier' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByText('Saved. A new container is on its way.').last().waitFor(); // beside the note of an earlier change
  await link('Domain').click();
  await fill('Domain', 'www.hello.example');
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: /CNAME/ }).first().waitFor();
  await look('domain');
  await button('Remove the domain').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove the domain' }).click();
  await page.getByLabel('Domain', { exact: true }).waitFor();
  // The event of the removal may come before its answer. The console then asks for the domain, which is gone.
  nothing_wrong(/status of 404 .*\/domain\)$/);
});

test('a log is followed, paused, searched and downloaded; few of its lines are elements', async () => {
  await page.goto(`${platform.base}/console/new`);
  await fill('Image', 'docker.io/library/talking:1');
  await page.getByLabel(/Basic/).check({ force: true });
  await button('Create and start').click();
  await status('Running');
  await link('Logs').click();
  const lines = page.locator('.log .line');
  const count = async () => Number((await page.locator('.log .tools .number').innerText()).replace(/\D.*/, ''));
  await eventually('the log has many lines', async () => (await count()) > 150);
  assert.ok((await lines.count()) < 100);
  await button('Pause').click();
  const last = await lines.last().innerText();
  const then = await count();
  await eventually('the log goes on', async () => (await count()) > then + 20);
  assert.equal(await lines.last().innerText(), last, 'a paused log stays as it is');
  await look('logs');
  await page.getByLabel('Search the log').fill('tick 1');
  await page.locator('.log mark').first().waitFor();
  const downloading = page.waitForEvent('download');
  await button('Download').click();
  const text = readFileSync(await (await downloading).path(), 'utf8');
  assert.match(text, /tick 2\n/);
  await button('Resume').click();
  // The browser may tell the log of a scroll when another screen is open already.
  const box = await page.locator('.log .lines').elementHandle();
  await link('Points').click();
  await page.getByRole('cell', { name: 'Sign-up bonus' }).waitFor();
  await box.evaluate((element) => element.dispatchEvent(new Event('scroll')));
  nothing_wrong();
});

test('points are sent and listed, and the list is filtered', async () => {
  await link('Points').click();
  assert.equal((await page.getByRole('cell', { name: 'Sign-up bonus' }).innerText()).trim(), 'Sign-up bonus', 'it is said once');
  await button('Send points').click();
  await fill('To the user', 'olga');
  await fill('Points', '5');
  await page.getByRole('dialog').getByRole('button', { name: 'Send points' }).click();
  await page.getByRole('cell', { name: '−5' }).waitFor();
  await page.locator('.facts dd', { hasText: /^5 points$/ }).waitFor();
  await look('points');
  await page.getByLabel('Direction').selectOption('in');
  await page.getByRole('cell', { name: '−5' }).waitFor({ state: 'detached' });
  nothing_wrong();
});

test('a receipt is saved and checked in the browser, and a statement is shown and saved', async () => {
  await link('Points').click();
  const [saved] = await Promise.all([page.waitForEvent('download'), button('Save the receipt').first().click()]);
  const receipt = readFileSync(await saved.path(), 'utf8').trim();
  await link('Statement').click();
  await page.getByText('Balance after').waitFor();
  await page.getByRole('cell', { name: 'Sign-up bonus' }).waitFor();
  await look('statement');
  const [file] = await Promise.all([page.waitForEvent('download'), button('CSV').click()]);
  assert.match(readFileSync(await file.path(), 'utf8'), /^id,inserted_at,kind[\s\S]*closing_balance/);
  nothing_wrong();

  const other = await browser.newPage();
  await other.goto(`${platform.base}/receipts/verify`);
  const check = async (text, verdict) => {
    await other.getByLabel('Receipt', { exact: true }).fill(text);
    await other.getByRole('button', { name: 'Check the receipt' }).click();
    await other.locator(`[data-verdict=${verdict}]:visible`).waitFor();
  };
  await check(receipt, 'signed_only');
  const [head, payload] = receipt.split('.');
  await check(`${head}.${payload}.${'A'.repeat(86)}`, 'forged');
  await check('no receipt', 'malformed');
  await other.close();
});

test('the account has its sessions; another one is ended', async () => {
  await fetch(`${platform.base}/api/auth/login`, {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'User-Agent': 'curl/8.0' }, body: JSON.stringify({ email: ada.email, password: ada.password }),
  });
  await link('Account').click();
  await button('End the session of curl from 127.0.0.1').waitFor();
  await look('account');
  await button('End the session of curl from 127.0.0.1').click();
  await page.getByText('The session has ended.').waitFor();
  nothing_wrong();
});

test('⌘K leads to a deployment by its name', async () => {
  // It is open before the browser can handle another key, so that nobody has to wait for it.
  assert.ok(await page.evaluate(async () => {
    dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));
    for (let i = 0; i < 10; ++i) await null;
    return document.activeElement?.matches('dialog.palette[open] input');
  }));
  await page.keyboard.type('talk');
  await page.getByRole('option', { name: /talking/ }).waitFor();
  await look('palette');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'talking' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
  await link('Deployments').click();
  await page.getByRole('link', { name: 'hello', exact: true }).waitFor();
  await look('overview');
  nothing_wrong();
});

test('⌘K finds actions, parts of a deployment and the documentation; ? shows the keys', async () => {
  await page.keyboard.press('Control+k');
  await page.getByLabel('Find a deployment, an app or a screen').waitFor();
  await page.keyboard.type('talking logs');
  await page.getByRole('option', { name: /talking › Logs/ }).waitFor();
  const words = page.getByLabel('Find a deployment, an app or a screen');
  await words.fill('operators');
  await page.getByRole('option', { name: /Operators.*Documentation/ }).first().waitFor();
  await words.fill('send points');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByLabel('To the user').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('h1').click();
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Keys and help').waitFor();
  await look('keys');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.getByRole('heading', { level: 1, name: 'Apps' }).waitFor();
  await page.waitForFunction(() => document.title === 'Apps · berth');
  assert.match(await page.getByRole('link', { name: 'Docs' }).getAttribute('href'), /^\/docs\//);
  nothing_wrong();
});

test('a page load asks for each list once', async () => {
  for (const path of ['', `/deployments/${ours}`, '/apps', '/points']) {
    const before_it = seen.length;
    await page.goto(`${platform.base}/console${path}`);
    await page.locator('h1').waitFor();
    await page.waitForLoadState('load');
    await eventually('everything was asked for', async () => {
      const count = seen.length;
      await new Promise((done) => setTimeout(done, 300));
      return count === seen.length;
    });
    const asked = seen.slice(before_it).filter((text) => text.startsWith(`${platform.base}/api/`) && !/\/api\/(auth\/me|events)/.test(text)).map((text) => text.trim());
    assert.ok(asked.length >= 2, asked.join('\n'));
    assert.deepEqual(asked.filter((text, index) => asked.indexOf(text) !== index), [], path);
  }
  nothing_wrong();
});

test('nothing of another tenant is fetched, even by its address', async () => {
  await page.goto(`${platform.base}/console/deployments/${theirs.deployment}`);
  await page.getByRole('heading', { level: 1, name: 'There is no such deployment' }).waitFor();
  await page.goto(`${platform.base}/console/nowhere`);
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  const asked = seen.filter((text) => text.includes('/api/') || !text.startsWith('http'));
  for (const id of Object.values(theirs)) assert.deepEqual(asked.filter((text) => text.includes(id)), [], id);
  nothing_wrong();
});

test('without a connection, that is said, and what was typed stays', async () => {
  await page.goto(`${platform.base}/console/new`);
  await fill('Image', 'docker.io/library/hello:2');
  await fill('Name', 'other');
  await page.getByLabel(/Basic/).check({ force: true });
  await page.context().setOffline(true);
  await button('Create and start').click();
  await page.getByText('The server can’t be reached. What you see').waitFor();
  await page.context().setOffline(false);
  assert.equal(await page.getByLabel('Image', { exact: true }).inputValue(), 'docker.io/library/hello:2');
  nothing_wrong(/ERR_INTERNET_DISCONNECTED|Failed to load resource/);
});

test('a login that ended is said over what was typed, and goes on after a new one', async () => {
  await page.goto(`${platform.base}/console/new`);
  await fill('Image', 'docker.io/library/hello:3');
  const elsewhere = await tab(page.context());
  await elsewhere.goto(`${platform.base}/console/account`);
  await elsewhere.getByRole('button', { name: 'Log out' }).last().click();
  await elsewhere.waitForURL(`${platform.base}/`);
  await page.getByRole('heading', { name: 'Your login has ended' }).waitFor();
  await page.bringToFront(); // a tab in the background isn't painted
  await look('expired');
  await elsewhere.goto(`${platform.base}/login?next=/console`);
  await elsewhere.getByLabel('Email address').fill(ada.email);
  await elsewhere.getByLabel('Password').fill(ada.password);
  await elsewhere.keyboard.press('Enter');
  await elsewhere.getByRole('heading', { level: 1, name: 'Deployments' }).waitFor();
  await page.bringToFront();
  await button('I have logged in').click().catch(() => {}); // the dialog may be gone, as the tab looks by itself when it is shown
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Image', { exact: true }).inputValue(), 'docker.io/library/hello:3');
  nothing_wrong(/401|Unauthorized/);
});

test('a deployment inherits the variables of its app, and may override them', async () => {
  await page.goto(`${platform.base}/console/deployments/${ours}/variables`);
  await link('The app’s variables').click();
  await page.getByLabel('Name of variable 1').fill('SHARED');
  await page.getByLabel('Value of SHARED').fill('hello app');
  await button('Save 1 variable').click();
  await page.locator('code', { hasText: 'SHARED' }).waitFor();
  await look('app-variables');
  await page.goto(`${platform.base}/console/deployments/${ours}/variables`);
  const own = page.getByLabel('Value of SHARED');
  await own.waitFor();
  assert.equal(await own.getAttribute('placeholder'), 'the app’s value');
  await button('Text').click();
  const text = page.getByLabel('Variables as the text of a .env file');
  assert.ok(!(await text.inputValue()).includes('SHARED'), 'what is inherited is no part of the text');
  await button('Table').click();
  await own.fill('own');
  await page.locator('.difference', { hasText: '+SHARED' }).waitFor();
  await button('Save 1 variable').click();
  await page.getByText('overrides the app’s').first().waitFor();
  await button('Remove SHARED').click();
  await page.getByText('will be the app’s again').waitFor();
  await look('variables-overridden');
  assert.ok(!(await page.locator('main').innerText()).includes('hello app'));
  nothing_wrong();
});

test('a deployment is deleted once its name was typed', async () => {
  await page.goto(`${platform.base}/console/deployments/${ours}`);
  await button('More actions').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  assert.equal(await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).isDisabled(), true);
  await page.keyboard.type('hello');
  await page.keyboard.press('Enter');
  await page.getByText('hello was deleted.').waitFor();
  await page.getByRole('link', { name: 'hello', exact: true }).waitFor({ state: 'detached' });
  nothing_wrong();
});
