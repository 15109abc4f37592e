// Passkeys in a browser, with Chromium's virtual authenticator: node --test passkeys.mjs
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { Platform, totp } from './platform.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const sizes = { desktop: { width: 1280, height: 900 }, telephone: { width: 390, height: 844 } };
const ada = { email: 'ada@example.org', username: 'ada', password: 'five random words are fine' };

let platform, browser, door;

// Browsers have passkeys on localhost, and not at 127.0.0.1, where berthd listens.
async function open_door() {
  let port;
  const server = createServer((from) => {
    const to = connect(port, '127.0.0.1');
    from.on('error', () => to.destroy()).pipe(to);
    to.on('error', () => from.destroy()).pipe(from);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, base: `http://localhost:${server.address().port}`, lead_to: (to) => (port = to) };
}

before(async () => {
  mkdirSync('screenshots', { recursive: true });
  door = await open_door();
  platform = await Platform.start(process.env.BERTHD, ['--rate-limits', 'off', '--base-url', door.base]);
  door.lead_to(Number(new URL(platform.base).port));
  await platform.call('POST', '/api/auth/register', { body: ada });
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
});
after(async () => {
  await browser?.close();
  await platform?.stop();
  door?.server.close();
});

// Opens a browser context for a visitor whose device has an authenticator.
async function visitor({ javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({ viewport: sizes.desktop, javaScriptEnabled });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const devices = await context.newCDPSession(page);
  await devices.send('WebAuthn.enable');
  const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { page, devices, authenticatorId };
}

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
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

async function log_in(page) {
  await page.goto(`${door.base}/login`);
  await page.getByLabel('Email address', { exact: true }).fill(ada.email);
  await page.getByLabel('Password', { exact: true }).fill(ada.password);
  await press(page, 'Log in');
}

async function add(page, name) {
  await page.goto(`${door.base}/account/passkeys`);
  await page.getByLabel('Name, such as that of your device').fill(name);
  await press(page, 'Continue');
  assert.equal(await heading(page), 'Create a passkey');
}

test('a passkey is made, logs in, proves the second factor, is renamed and removed', async () => {
  const { page, devices, authenticatorId } = await visitor();
  await log_in(page);
  assert.equal(await heading(page), 'Your account');
  await page.goto(`${door.base}/account/passkeys`);
  await look(page, 'passkeys-none');
  await add(page, 'My laptop');
  await look(page, 'passkey-new');
  await press(page, 'Create the passkey');
  await page.getByText('The passkey was added').waitFor();
  assert.match(await page.getByRole('status').innerText(), /passkey was added/);
  await look(page, 'passkeys');
  const { credentials } = await devices.send('WebAuthn.getCredentials', { authenticatorId });
  assert.equal(credentials.length, 1);
  assert.equal(credentials[0].rpId, 'localhost');
  assert.equal(credentials[0].isResidentCredential, true);

  // The device has one for this account already.
  await add(page, 'Again');
  await press(page, 'Create the passkey');
  await page.getByText('No passkey was made').waitFor();

  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL('**/login');
  await look(page, 'login-passkey');
  await press(page, 'Log in with a passkey');
  await page.waitForURL('**/account');
  assert.equal(await heading(page), 'Your account');

  // A session of the password alone proves the second factor before it changes how one logs in.
  await page.getByRole('button', { name: 'Log out' }).click();
  await log_in(page);
  await page.goto(`${door.base}/account/passkeys`);
  await page.getByLabel('Name, such as that of your device').fill('Another');
  await press(page, 'Continue');
  assert.equal(await heading(page), 'Prove your second factor');
  await look(page, 'passkey-prove');
  await press(page, 'Use a passkey');
  await page.waitForURL('**/account/passkeys');

  await page.getByLabel('Name', { exact: true }).fill('Old laptop');
  await press(page, 'Rename My laptop');
  assert.match(await page.getByRole('status').innerText(), /was renamed/);
  assert.match(await page.locator('.cards').innerText(), /Old laptop/);
  await page.getByLabel('This is my only second factor. Remove it all the same.').check();
  await press(page, 'Remove Old laptop');
  assert.match(await page.getByRole('status').innerText(), /was removed/);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL('**/login');
  await press(page, 'Log in with a passkey');
  assert.match(await page.getByRole('alert').first().innerText(), /isn.t known here/);
});

test('where a login asks for a code, a passkey takes its place', async () => {
  const { page } = await visitor();
  await log_in(page);
  await add(page, 'Telephone');
  await press(page, 'Create the passkey');
  await page.getByText('The passkey was added').waitFor();
  await page.goto(`${door.base}/account/totp`);
  await press(page, 'Set it up');
  const secret = await page.locator('code.secret').innerText();
  await page.getByLabel('Code', { exact: true }).fill(totp(secret));
  await press(page, 'Turn the second factor on');
  assert.equal(await heading(page), 'Your recovery codes');
  await page.getByRole('button', { name: 'Log out' }).click();
  await log_in(page);
  assert.equal(await heading(page), 'Second factor');
  await look(page, 'login-code-passkey');
  await press(page, 'Log in with a passkey');
  await page.waitForURL('**/account');
  assert.equal(await heading(page), 'Your account');
});

test('without a script, no button is shown, and the pages are as they were', async () => {
  const { page } = await visitor({ javaScriptEnabled: false });
  await page.goto(`${door.base}/login`);
  assert.equal(await page.getByRole('button', { name: 'Log in with a passkey' }).isVisible(), false);
  assert.equal(await page.getByRole('button', { name: 'Log in', exact: true }).isVisible(), true);
});

test('one script may run, on the pages that need it and on no other', async () => {
  const policy = async (path) => (await fetch(`${door.base}${path}`)).headers.get('content-security-policy');
  assert.match(await policy('/login'), /; script-src 'sha256-[A-Za-z0-9+/]{43}='$/);
  assert.doesNotMatch(await policy('/register'), /script-src/);
  assert.doesNotMatch(await policy('/forgot-password'), /script-src/);
});
