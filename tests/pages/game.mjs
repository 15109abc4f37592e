// The sample game (examples/game) in a browser, against a berthd: a player logs in, plays, spends points, chats with another
// one, and sees an ad, whose link they follow. GAME is its program.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { App, eventually, Platform } from './platform.mjs';

// One red pixel.
const image =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const site = join(process.env.EXAMPLES, 'game/site');

let platform, shop, browser, game, home, author, advertiser, campaign;

async function approve(who, scopes) {
  const path = `/api/oauth/my-apps/${who.app.id}/scope-request`;
  const { id } = await platform.call('POST', path, { headers: who.headers, body: { requested_scopes: scopes } });
  await platform.admin('POST', `/api/internal/scope-requests/${id}/approve`);
}
const start = (port, environment) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.env.GAME, [site], { env: { PORT: String(port), SECONDS: '1', ...environment } });
    child.once('exit', (code) => reject(new Error(`the game's server ended with ${code}`)));
    child.stdout.once('data', (text) => resolve([child, Number(/port (\d+)/.exec(text)[1])]));
  });

before(async () => {
  platform = await Platform.start(process.env.BERTHD);
  shop = await App.start(); // the advertiser's page, to which the ad's link leads
  // The redirect URI names the port, so the server gets its port first and learns of its app afterwards.
  const [first, port] = await start(0, {});
  first.removeAllListeners('exit').kill();
  home = `http://127.0.0.1:${port}/`;
  author = await platform.operator('author', {
    app_name: 'Stars',
    token_endpoint_auth_method: 'none',
    redirect_uris: [home],
    allowed_origins: [home.slice(0, -1)],
    allowed_scopes: ['profile:read', 'points:read', 'points:spend'],
  });
  await approve(author, ['points:spend']);
  [game] = await start(port, { BERTH: platform.base, CLIENT_ID: author.app.client_id });

  advertiser = await platform.operator('chess', {
    app_name: 'Chess',
    redirect_uris: ['https://chess.example.org/callback'],
    allowed_scopes: ['profile:read', 'campaigns:manage'],
  });
  await approve(advertiser, ['campaigns:manage']);
  for (const account of [{ kind: 'app', id: advertiser.app.id }, { kind: 'treasury' }])
    await platform.admin('POST', '/api/internal/points/mint', { account, amount: 10_000, reason: 'a test' });
  const { access_token } = await platform.call('POST', '/api/oauth/token', {
    body: {
      grant_type: 'client_credentials',
      client_id: advertiser.app.client_id,
      client_secret: advertiser.app.client_secret,
      scope: 'campaigns:manage',
    },
  });
  advertiser.headers = { Authorization: `Bearer ${access_token}` };
  campaign = (
    await platform.call('POST', '/api/external/campaigns', {
      headers: advertiser.headers,
      body: { name: 'Spring', surface_type: 'interstitial', total_payment: 1_000, payout_rate: 10 },
    })
  ).campaign.id;
  await platform.call('POST', `/api/external/campaigns/${campaign}/creatives`, {
    headers: advertiser.headers,
    body: { title: 'Play chess', text: 'Against everybody.', link: shop.redirectUri, image },
  });
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
});
after(async () => {
  await browser?.close();
  game?.removeAllListeners('exit').kill();
  shop?.stop();
  await platform?.stop();
});

async function player(name) {
  const account = { email: `${name}@example.org`, password: `a long secret of ${name}` };
  const { user } = await platform.call('POST', '/api/auth/register', { body: { ...account, username: name } });
  const { token } = await platform.call('POST', '/api/auth/login', { body: account });
  await platform.call('POST', '/api/auth/self-verify-email', { headers: { Authorization: `Bearer ${token}` } });
  await platform.admin('POST', '/api/internal/points/mint', {
    account: { kind: 'user', id: user.id },
    amount: 100,
    reason: 'a test',
  });
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(error.message));
  page.on('console', (said) => said.type() === 'error' && page.faults.push(said.text()));
  await page.goto(home);
  await page.getByRole('button', { name: 'Log in with berth' }).click();
  await page.getByLabel('Email address', { exact: true }).fill(account.email);
  await page.getByLabel('Password', { exact: true }).fill(account.password);
  await page.getByRole('button', { name: /^Log in/ }).click();
  await page.getByLabel('Let the app act as you').check();
  await page.getByRole('button', { name: /^Allow/ }).click();
  await page.waitForURL(home);
  await page.locator('#player').getByText(name).waitFor();
  await page.locator('#balance').getByText(/^\d+$/).waitFor();
  return page;
}
const creative = async () =>
  (await platform.call('GET', `/api/external/campaigns/${campaign}/creatives`, { headers: advertiser.headers }))
    .creatives[0];

test('a game is played: login, stars, points, an ad and its link, presence and chat', async () => {
  const ada = await player('ada');
  const before = Number(await ada.locator('#balance').innerText());
  await ada.getByRole('button', { name: 'Play' }).click();
  await ada.locator('#field .star').click();
  await ada.locator('#notice').getByText('You have 1 stars.').waitFor();

  const ad = ada.locator('#ad');
  await ad.getByText('Play chess').waitFor();
  assert.match(await ad.innerText(), /Against everybody\./);
  const width = await ad.locator('img').evaluate((shown) => shown.naturalWidth);
  assert.equal(width, 1, 'berth’s picture is shown');
  await eventually('the impression counts', async () => (await creative()).impressions === 1);
  for (let i = 0; i < 2; ++i) {
    const [opened] = await Promise.all([ada.context().waitForEvent('page'), ad.getByRole('link').click()]);
    await opened.waitForURL(shop.redirectUri);
    await opened.close();
  }
  assert.deepEqual(shop.came.map((visit) => visit.headers.referer), [undefined, undefined]);
  assert.equal((await creative()).clicks, 1, 'two clicks on one impression are one');

  await ada.getByRole('button', { name: '10 more seconds for 5 points' }).click();
  await ada.locator('#time').getByText('10').waitFor();
  const left = Number(await ada.locator('#balance').innerText());
  assert.ok([before - 5, before - 4].includes(left), 'five points are spent; the ad may have brought one');

  const bob = await player('bob');
  await bob.locator('#players').getByText('ada').waitFor();
  await bob.getByLabel('Message').fill('Hello, <b>ada</b>');
  await bob.getByRole('button', { name: 'Send' }).click();
  await ada.locator('#messages').getByText('bob: Hello, <b>ada</b>').waitFor();
  assert.deepEqual([...ada.faults, ...bob.faults], []);
});
