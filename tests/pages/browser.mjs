// Tests of the hosted pages in a browser: node --test browser.mjs -- BERTHD
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { App, former_totp, Platform, totp } from './platform.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const sizes = { desktop: { width: 1280, height: 900 }, telephone: { width: 390, height: 844 } };
const ada = { email: 'ada@example.org', username: 'ada', password: 'five random words are fine' };

let platform, app, operator, browser;

before(async () => {
  mkdirSync('screenshots', { recursive: true });
  platform = await Platform.start(process.env.BERTHD);
  app = await App.start();
  operator = await platform.operator('olga', {
    app_name: 'Space <b>Cargo</b> & Co.',
    app_description: 'Carry cargo between the stars.',
    redirect_uris: [app.redirectUri],
    allowed_scopes: ['profile:read', 'points:read', 'points:spend'],
  });
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
});
after(async () => {
  await browser?.close();
  app?.stop();
  await platform?.stop();
});

// Opens a browser context with separate cookies for a visitor.
async function visitor(options = {}) {
  const context = await browser.newContext({ viewport: sizes.desktop, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  return page;
}

// Checks the page in both sizes: axe-core has no serious finding, and nothing is wider than the screen.
async function look(page, name) {
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    await page.screenshot({ path: `screenshots/${name}-${size}.png`, fullPage: true });
    const wide = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
    assert.equal(wide, false, `${name} scrolls sideways on a ${size}`);
    await page.evaluate(axe);
    const found = await page.evaluate('axe.run().then((r) => r.violations)');
    const serious = found.filter((v) => ['serious', 'critical'].includes(v.impact));
    assert.deepEqual(serious.map((v) => [v.id, v.nodes.map((n) => n.html)]), [], `${name} on a ${size}`);
  }
  await page.setViewportSize(sizes.desktop);
}

const heading = (page) => page.locator('h1').innerText();
const startingWith = (text) => new RegExp('^' + text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
// Finds a button by the beginning of its name: "Allow" and not "Don’t allow".
const press = (page, name) =>
  page.getByRole('button', { name: startingWith(name) }).click();

async function fill(page, fields) {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
}
async function logIn(page, account = ada) {
  await page.goto(`${platform.base}/login`);
  await fill(page, { 'Email address': account.email, Password: account.password });
  await press(page, 'Log in');
}

test('register, verify by the mailed link, consent, and back to the app with a code', async () => {
  const page = await visitor();
  await page.goto(app.authorization(platform.base, operator.app.client_id));
  assert.equal(await heading(page), 'Log in');
  await look(page, 'login');
  assert.ok((await page.locator('main').innerText()).includes('Space <b>Cargo</b> & Co.'));
  await page.getByRole('link', { name: 'Create one' }).click();
  await fill(page, { 'Email address': ada.email, Username: ada.username, Password: 'password' });
  await press(page, 'Create the account');
  assert.match(await page.getByRole('alert').innerText(), /easy to guess/);
  await look(page, 'register');
  await fill(page, { Password: ada.password, 'Referral code (if a friend gave you one)': 'nosuchcode' });
  await press(page, 'Create the account');
  assert.equal(await page.getByRole('alert').innerText(), 'Referral code is unknown.');
  await fill(page, { Password: ada.password, 'Referral code (if a friend gave you one)': '' });
  await press(page, 'Create the account');
  // This berthd is in development, without a mail server: the page has the link of the mail.
  assert.equal(await heading(page), 'Verify your address');
  await look(page, 'registered');
  const mail = await platform.mail(ada.email, 'ev_');
  const link = await page.getByRole('link', { name: `Verify ${ada.email}` }).getAttribute('href');
  assert.ok(mail.link.endsWith(link));
  const mailbox = await visitor();
  await mailbox.goto(mail.link);
  await look(mailbox, 'verify-email');
  await press(mailbox, 'Verify my address');
  assert.equal(await heading(mailbox), 'Your address is verified');
  await mailbox.goto(mail.link);
  await press(mailbox, 'Verify my address');
  assert.equal(await heading(mailbox), 'This link doesn’t work any more');
  await look(mailbox, 'dead-link');
  await page.getByRole('link', { name: 'Continue without it' }).click();
  assert.equal(await heading(page), 'Allow access?');
  await look(page, 'consent');
  const text = await page.locator('main').innerText();
  assert.ok(text.includes('Space <b>Cargo</b> & Co.'), 'the name is text');
  assert.ok(text.includes('see how many points you have'));
  // Somebody else's app: what it may do in one's name isn't ticked in advance.
  assert.equal(await page.getByLabel('Let the app act as you').isChecked(), false);
  await page.getByLabel('Let the app act as you').check();
  await press(page, 'Allow');
  await page.waitForURL(`${app.redirectUri}**`);
  const { parameters, headers } = app.came.pop();
  assert.equal(parameters.state, app.state);
  assert.equal(parameters.iss, platform.base);
  assert.equal(headers.referer, undefined, 'the app isn’t told where the visitor was');
  const tokens = await platform.call('POST', '/api/oauth/token', {
    body: {
      grant_type: 'authorization_code',
      code: parameters.code,
      client_id: operator.app.client_id,
      client_secret: operator.app.client_secret,
      redirect_uri: app.redirectUri,
      code_verifier: app.verifier,
    },
  });
  assert.match(tokens.access_token, /^at_live_/);
});

test('names of one long word fit on a telephone', async () => {
  const long = await platform.operator('w'.repeat(32), {
    app_name: 'W'.repeat(60),
    app_description: 'w'.repeat(300),
    redirect_uris: [app.redirectUri],
    allowed_scopes: ['profile:read'],
  });
  const page = await visitor();
  await page.goto(app.authorization(platform.base, long.app.client_id, { scope: 'profile:read' }));
  await look(page, 'login-long');
  await fill(page, { 'Email address': long.email, Password: long.password });
  await press(page, 'Log in');
  assert.equal(await heading(page), 'Allow access?');
  await look(page, 'consent-long');
  await page.goto(`${platform.base}/account`);
  await look(page, 'account-long');
});

test('refusal leads back to the app without a code', async () => {
  const page = await visitor();
  await logIn(page);
  await page.goto(app.authorization(platform.base, operator.app.client_id));
  await press(page, 'Don’t allow');
  await page.waitForURL(`${app.redirectUri}**`);
  const { parameters } = app.came.pop();
  assert.deepEqual(parameters, { error: 'access_denied', state: app.state, iss: platform.base });
});

test('what the app asks wrongly goes to the app, unless it isn’t known to be the app', async () => {
  const page = await visitor();
  await logIn(page);
  await page.goto(app.authorization(platform.base, operator.app.client_id, { scope: 'points:spend' }));
  await page.waitForURL(`${app.redirectUri}**`);
  assert.equal(app.came.pop().parameters.error, 'invalid_scope');
  for (const changes of [{ client_id: 'client_unknown' }, { redirect_uri: 'https://evil.example.org/' },
    { redirect_uri: `${app.redirectUri}/more` }, { redirect_uri: '' }]) {
    const answer = await page.goto(app.authorization(platform.base, operator.app.client_id, changes));
    assert.equal(answer.status(), 400);
    assert.equal(await heading(page), 'This app’s request isn’t valid');
  }
  await look(page, 'broken-request');
  assert.equal(app.came.length, 0);
});

test('the platform’s address shows what berth is, leads to the console after a login, and a program to nothing', async () => {
  const page = await visitor();
  await page.goto(`${platform.base}/`);
  await look(page, 'start');
  await page.getByRole('link', { name: 'Log in' }).first().click();
  await fill(page, { 'Email address': ada.email, Password: ada.password });
  await press(page, 'Log in');
  await page.waitForURL('**/console');
  await page.goto(`${platform.base}/`);
  await page.waitForURL('**/console');
  assert.equal((await fetch(`${platform.base}/`)).status, 404);
});

test('a refusal behind the login goes to the app, too', async () => {
  const page = await visitor();
  await page.goto(app.authorization(platform.base, operator.app.client_id, { scope: 'points:spend' }));
  await page.waitForURL('**/login?**');
  await fill(page, { 'Email address': ada.email, Password: ada.password });
  await press(page, 'Log in');
  await page.waitForURL(`${app.redirectUri}**`);
  assert.equal(app.came.pop().parameters.error, 'invalid_scope');
  const evil = app.authorization(platform.base, operator.app.client_id, { redirect_uri: 'https://evil.example.org/' });
  const answer = await fetch(`${platform.base}/login?next=${encodeURIComponent(evil.slice(platform.base.length))}`);
  assert.match(answer.headers.get('content-security-policy'), /form-action 'self'$/);
});

test('TOTP is enrolled, asked for, and replaced by a recovery code', async () => {
  const page = await visitor();
  await logIn(page);
  await look(page, 'account');
  await page.getByRole('link', { name: 'Set up an authenticator' }).click();
  await press(page, 'Set it up');
  await look(page, 'totp-setup');
  const secret = await page.locator('code.secret').innerText();
  await fill(page, { Code: '000000' });
  await press(page, 'Turn the second factor on');
  assert.match(await page.getByRole('alert').innerText(), /code is wrong/);
  assert.equal(await page.locator('code.secret').innerText(), secret);
  await fill(page, { Code: await former_totp(secret) });
  await press(page, 'Turn the second factor on');
  assert.equal(await heading(page), 'Your recovery codes');
  assert.equal(await page.locator('form.languages').count(), 0, 'a language would lead away from what is shown once');
  await look(page, 'recovery-codes');
  const codes = await page.locator('.codes code').allInnerTexts();
  assert.equal(codes.length, 10);
  await press(page, 'Log out');
  await logIn(page);
  assert.equal(await heading(page), 'Second factor');
  await look(page, 'login-code');
  await fill(page, { Code: '000000' });
  await press(page, 'Log in');
  assert.match(await page.getByRole('alert').innerText(), /code is wrong/);
  await fill(page, { Code: totp(secret) });
  await press(page, 'Log in');
  assert.equal(await heading(page), 'Your account');
  await press(page, 'Log out');
  await logIn(page);
  await fill(page, { Code: codes[0] });
  await press(page, 'Log in');
  await page.goto(`${platform.base}/account/totp`);
  assert.ok((await page.locator('main').innerText()).includes('9 recovery codes'));
  await fill(page, { Password: ada.password, 'Code of your authenticator, or a recovery code': codes[1] });
  await press(page, 'Turn the second factor off');
  assert.equal(await heading(page), 'The second factor is off');
});

test('an address is changed by mail, and the old one takes the account back', async () => {
  const grace = await platform.operator('grace', { app_name: 'Compiler', redirect_uris: [app.redirectUri], allowed_scopes: ['profile:read'] });
  const page = await visitor();
  await logIn(page, grace);
  await fill(page, { 'New address': 'grace@example.net', 'Your password': grace.password });
  await press(page, 'Change the address');
  assert.match(await page.getByRole('status').innerText(), /mail to both addresses/);
  const stop = await platform.mail(grace.email, 'es_');
  await page.goto((await platform.mail('grace@example.net', 'ec_')).link);
  await look(page, 'email-change');
  await press(page, 'Change my address');
  assert.equal(await heading(page), 'Your address was changed');
  await page.goto(stop.link);
  await look(page, 'email-change-stop');
  await press(page, 'Keep my old address');
  assert.equal(await heading(page), 'Your old address stays');
  await page.goto(`${platform.base}/account`);
  assert.equal(await heading(page), 'Log in');
});

test('a forgotten password is reset by mail, and other sessions end', async () => {
  const elsewhere = await visitor();
  await logIn(elsewhere);
  const page = await visitor();
  await page.goto(`${platform.base}/login`);
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await fill(page, { 'Email address': ada.email });
  await look(page, 'forgot-password');
  await press(page, 'Send the mail');
  const { link } = await platform.mail(ada.email, 'pr_');
  await page.goto(link);
  await look(page, 'reset-password');
  ada.password = 'another five random words';
  await fill(page, { 'New password': ada.password });
  await press(page, 'Change the password');
  assert.equal(await heading(page), 'Your password was changed');
  await page.goto(link);
  await fill(page, { 'New password': ada.password });
  await press(page, 'Change the password');
  assert.equal(await heading(page), 'This link doesn’t work any more');
  await page.getByRole('link', { name: 'Forgotten password' }).click();
  assert.equal(await heading(page), 'Forgotten password');
  await elsewhere.goto(`${platform.base}/account`);
  assert.equal(await heading(elsewhere), 'Log in');
  await logIn(page);
  assert.equal(await heading(page), 'Your account');
});

test('a user keeps an app to reading, and lets it act again', async () => {
  const page = await visitor();
  await logIn(page);
  const ask = () => page.goto(app.authorization(platform.base, operator.app.client_id));
  const box = page.getByLabel('Let the app act as you');
  await ask();
  await box.uncheck();
  await press(page, 'Allow');
  await page.waitForURL(`${app.redirectUri}**`);
  app.came.pop();
  await ask();
  assert.equal(await box.isChecked(), false, 'the choice is remembered');
  await page.goto(`${platform.base}/connected-apps`);
  await look(page, 'connected-apps-reading');
  await press(page, 'Let it act as me: Space');
  assert.equal(await page.getByRole('status').innerText(), 'The app may act as you now.');
  await press(page, 'Don’t let it act as me: Space');
  assert.match(await page.getByRole('status').innerText(), /can’t act as you any more/);
});

test('an app is disconnected', async () => {
  const page = await visitor();
  await logIn(page);
  await page.getByRole('link', { name: 'Connected apps' }).click();
  await look(page, 'connected-apps');
  await press(page, 'Disconnect Space <b>Cargo</b> & Co.');
  assert.ok((await page.locator('main').innerText()).includes('No app has access'));
});

test('an admin with a fresh second factor decides about scope requests; nobody else sees them', async () => {
  await platform.call('POST', `/api/oauth/my-apps/${operator.app.id}/scope-request`, {
    headers: operator.headers,
    body: { requested_scopes: ['points:spend'] },
  });
  const nora = await platform.operator('nora', {
    app_name: 'Desk', redirect_uris: [app.redirectUri], allowed_scopes: ['profile:read'],
  });
  const page = await visitor();
  await logIn(page, nora);
  const requests = `${platform.base}/admin/scope-requests`;
  assert.equal((await page.goto(requests)).status(), 403);
  const { users } = await platform.admin('GET', '/api/internal/users?q=nora');
  await platform.admin('POST', `/api/internal/users/${users[0].id}/promote`, { is_admin: true });
  assert.equal((await page.goto(requests)).status(), 403);
  await look(page, 'admin-without-second-factor');
  const earlier = await visitor();
  await logIn(earlier, nora);
  await page.getByRole('link', { name: 'Set up the second factor' }).click();
  await press(page, 'Set it up');
  const secret = await page.locator('code.secret').innerText();
  await fill(page, { Code: await former_totp(secret) });
  await press(page, 'Turn the second factor on');
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
  await page.getByRole('link', { name: 'Scope requests' }).click();
  await page.getByRole('heading', { name: 'Scope requests' }).waitFor(); // setting the factor up has proven it
  await earlier.goto(requests);
  assert.equal(await heading(earlier), 'Prove your second factor');
  await look(earlier, 'prove-second-factor');
  const code = 'Code of your authenticator, or a recovery code';
  await fill(earlier, { [code]: '000000' });
  await press(earlier, 'Continue');
  assert.match(await earlier.getByRole('alert').innerText(), /code is wrong/);
  await fill(earlier, { [code]: totp(secret) });
  await press(earlier, 'Continue');
  assert.equal(await heading(earlier), 'Scope requests');
  await look(page, 'scope-requests');
  assert.match(await page.locator('main').innerText(), /By olga/);
  await press(page, 'Approve the request of');
  assert.ok((await page.locator('main').innerText()).includes('No requests are waiting'));
  const user = await visitor();
  await logIn(user);
  await user.goto(app.authorization(platform.base, operator.app.client_id, { scope: 'points:spend' }));
  assert.ok((await user.locator('main').innerText()).includes('spend your points'));
  await press(user, 'Allow');
  await user.waitForURL(`${app.redirectUri}**`);
  app.came.pop();
});

test('what an app may spend in a day is limited by its user', async () => {
  const page = await visitor();
  await logIn(page);
  await page.goto(`${platform.base}/connected-apps`);
  const limit = page.getByLabel('Points that the app may spend in a day');
  assert.equal(await limit.inputValue(), '');
  await limit.fill('250');
  await press(page, 'Set the limit of Space');
  assert.equal(await page.getByRole('status').innerText(), 'The limit was set.');
  assert.equal(await limit.inputValue(), '250');
  await look(page, 'connected-apps-limit');
  await limit.evaluate((field) => field.removeAttribute('pattern')); // as another client would send it
  await limit.fill('-1');
  await press(page, 'Set the limit of Space');
  assert.match(await page.getByRole('alert').innerText(), /^Daily spend limit must be a whole number/);
  assert.equal(await limit.inputValue(), '250');
  await limit.fill('');
  await press(page, 'Set the limit of Space');
  assert.equal(await page.getByRole('status').innerText(), 'There is no limit now.');
});

test('a device shows a code, and the person confirms who asks', async () => {
  const body = new URLSearchParams({ client_id: 'berth', scope: 'profile:read deploy:manage' });
  const start = async () =>
    (await fetch(`${platform.base}/api/oauth/device_authorization`, { method: 'POST', body })).json();
  const page = await visitor();
  await page.goto(`${platform.base}/device`);
  await fill(page, { 'Email address': ada.email, Password: ada.password });
  await press(page, 'Log in');
  await page.waitForURL('**/device');
  await look(page, 'device');
  await fill(page, { 'Code on the device': 'BBBB-BBBB' });
  await press(page, 'Continue');
  assert.match(await page.getByRole('alert').innerText(), /^User code is wrong/);
  const { user_code } = await start();
  await fill(page, { 'Code on the device': user_code.toLowerCase() });
  await press(page, 'Continue');
  await look(page, 'device-confirm');
  const text = await page.locator('main').innerText();
  for (const word of [user_code, 'berth', 'deploy:manage', '127.0.0.1']) assert.ok(text.includes(word), word);
  await press(page, 'Allow');
  assert.equal(await heading(page), 'The device is connected');
  await page.getByRole('link', { name: 'Connected apps' }).last().click();
  await press(page, 'Disconnect berth');
  const second = await start();
  await page.goto(`${platform.base}/device`);
  await fill(page, { 'Code on the device': second.user_code });
  await press(page, 'Continue');
  await press(page, 'Don’t allow');
  assert.equal(await heading(page), 'The device got no access');
});

test('the login’s cookie opens the API to berth’s own pages alone', async () => {
  const page = await visitor();
  await logIn(page);
  await page.waitForURL('**/account');
  // A page of berth's own without a policy that forbids scripts, as the console is one.
  await page.route('**/own', (route) => route.fulfill({ contentType: 'text/html', body: '<title>own</title>' }));
  await page.goto(`${platform.base}/own`);
  const ask = (url, headers) =>
    page.evaluate(
      ([address, fields]) =>
        fetch(address, { headers: fields, credentials: 'include' }).then(
          (answer) => answer.status,
          () => 'blocked',
        ),
      [url, headers],
    );
  const me = `${platform.base}/api/auth/me`;
  assert.equal(await ask(me, { 'Berth-Console': '1' }), 200);
  assert.equal(await ask(me, {}), 401);
  // Another port of the same host is of the same site, so the browser sends the cookie along.
  const { origin } = new URL(app.redirectUri);
  await page.route(`${origin}/other`, (route) => route.fulfill({ contentType: 'text/html', body: '<title>other</title>' }));
  const seen = [];
  page.on('response', (answer) => answer.url() === me && seen.push(answer.status()));
  await page.goto(`${origin}/other`);
  assert.equal(await ask(me, { 'Berth-Console': '1' }), 'blocked');
  assert.equal(await ask(me, {}), 'blocked');
  assert.ok(!seen.includes(200), seen.join());
});

test('everything works without scripts, and with the keyboard alone', async () => {
  const page = await visitor({ javaScriptEnabled: false });
  await page.goto(`${platform.base}/login`);
  await page.locator('input[type=email]:focus').waitFor(); // the browser focuses the first field a moment after the load
  await page.keyboard.type(ada.email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(ada.password);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/account');
  assert.equal(await heading(page), 'Your account');
});

test('no page can be framed, cached or made to run a script', async () => {
  for (const path of ['/login', '/register', '/forgot-password', '/account', '/api/oauth/authorize']) {
    const answer = await fetch(platform.base + path, { redirect: 'manual', headers: { Accept: 'text/html' } });
    const policy = answer.headers.get('content-security-policy');
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /form-action 'self'/);
    assert.doesNotMatch(policy, /script-src|unsafe/);
    assert.equal(answer.headers.get('x-frame-options'), 'DENY');
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
  }
});

test('a forged form is refused: no token, somebody else’s, another site’s', async () => {
  const form = async (headers, fields) =>
    (
      await fetch(`${platform.base}/login`, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({ email: ada.email, password: ada.password, ...fields }),
      })
    ).status;
  const fresh = async () => {
    const answer = await fetch(`${platform.base}/login`);
    const csrf = /name="csrf" value="([^"]+)"/.exec(await answer.text())[1];
    return { Cookie: answer.headers.getSetCookie()[0].split(';')[0], csrf };
  };
  const one = await fresh(), other = await fresh();
  assert.equal(await form({}, {}), 403);
  assert.equal(await form({ Cookie: one.Cookie }, {}), 403);
  assert.equal(await form({}, { csrf: one.csrf }), 403);
  assert.equal(await form({ Cookie: one.Cookie }, { csrf: other.csrf }), 403);
  const good = [{ Cookie: one.Cookie }, { csrf: one.csrf }];
  assert.equal(await form({ ...good[0], Origin: 'https://evil.example.org' }, good[1]), 403);
  assert.equal(await form({ ...good[0], Origin: 'null' }, good[1]), 403);
  assert.equal(await form({ ...good[0], 'Sec-Fetch-Site': 'cross-site' }, good[1]), 403);
  assert.equal(await form(...good), 303);
});

test('a session that somebody planted isn’t taken over, and its forms end with the login', async () => {
  const page = await visitor();
  await page.goto(`${platform.base}/login`);
  const before = await page.context().cookies();
  await fill(page, { 'Email address': ada.email, Password: ada.password });
  await press(page, 'Log in');
  await page.waitForURL('**/account');
  const cookies = await page.context().cookies();
  const value = (list, name) => list.find((c) => c.name === name)?.value;
  assert.notEqual(value(before, 'berth_form'), value(cookies, 'berth_form'));
  for (const cookie of cookies) {
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, 'Lax');
  }
  // The cookie is for pages only; the API doesn't accept it.
  const answer = await fetch(`${platform.base}/api/auth/me`, {
    headers: { Cookie: `berth_session=${value(cookies, 'berth_session')}` },
  });
  assert.equal(answer.status, 401);
});

test('nobody is led away by the login', async () => {
  for (const next of ['https://evil.example.org/', '//evil.example.org', '/\\evil.example.org', 'javascript:alert(1)', '/api/oauth/authorize@evil']) {
    const page = await visitor();
    await page.goto(`${platform.base}/login?next=${encodeURIComponent(next)}`);
    await fill(page, { 'Email address': ada.email, Password: ada.password });
    await press(page, 'Log in');
    await page.waitForURL(`${platform.base}/account`);
  }
});

test('after logging out, Back shows nothing private, also from a browser that keeps pages as they were left', async () => {
  const eve = await platform.operator('evelyn', {
    app_name: 'Back', redirect_uris: [app.redirectUri], allowed_scopes: ['profile:read'],
  });
  const keeping = await chromium.launch({
    executablePath: '/usr/bin/chromium', args: ['--no-sandbox'], ignoreDefaultArgs: ['--disable-back-forward-cache'],
  });
  try {
    const page = await (await keeping.newContext()).newPage();
    page.setDefaultTimeout(20_000);
    const shown = () => page.locator('body').innerText();
    const pages = ['/account', '/account/totp', '/connected-apps', '/device', '/console', '/console/account'];
    for (const path of pages) {
      await logIn(page, eve);
      await page.waitForURL(`${platform.base}/account`);
      await page.goto(platform.base + path);
      const out = page.getByRole('button', { name: 'Log out' }).last();
      await out.waitFor();
      assert.ok((await shown()).includes('evelyn'), path);
      const left = page.waitForNavigation();
      await out.click();
      await left;
      await page.goBack();
      await page.waitForLoadState();
      for (let look = 0; look < 5; ++look) {
        assert.ok(!(await shown()).includes('evelyn'), `Back shows ${path}`);
        await page.waitForTimeout(50);
      }
    }
    console.log(`${pages.length} private pages`);
  } finally {
    await keeping.close();
  }
});

// This test comes last because it moves the clock.
test('the second factor asks for the password again where the login is a while ago', async () => {
  const late = await platform.operator('lara', {
    app_name: 'Late', redirect_uris: [app.redirectUri], allowed_scopes: ['profile:read'],
  });
  const page = await visitor();
  await logIn(page, late);
  await page.goto(`${platform.base}/account/totp`);
  await press(page, 'Set it up');
  const secret = await page.locator('code.secret').innerText();
  assert.equal(await page.getByLabel('Password').count(), 0);
  await platform.admin('POST', '/api/internal/clock', { advance_seconds: 600 });
  const code = async () => {
    const { ahead_seconds: ahead } = await platform.admin('GET', '/api/internal/clock');
    return totp(secret, Date.now() / 1000 + ahead);
  };
  await fill(page, { Code: await code() });
  await press(page, 'Turn the second factor on');
  assert.match(await page.getByRole('alert').innerText(), /the password is required again/);
  await look(page, 'totp-setup-password');
  await fill(page, { Code: await code(), Password: 'not the password' });
  await press(page, 'Turn the second factor on');
  assert.match(await page.getByRole('alert').innerText(), /password is wrong/);
  await fill(page, { Code: await code(), Password: late.password });
  await press(page, 'Turn the second factor on');
  assert.equal(await heading(page), 'Your recovery codes');
  await platform.admin('POST', '/api/internal/clock', { advance_seconds: 600 });
  await page.goto(`${platform.base}/account/totp`);
  await press(page, 'Create new recovery codes');
  assert.equal(await heading(page), 'Prove your second factor');
  await look(page, 'totp-prove');
  await fill(page, { 'Code of your authenticator, or a recovery code': await code() });
  await press(page, 'Continue');
  await press(page, 'Create new recovery codes');
  assert.equal(await heading(page), 'Your recovery codes');
});
