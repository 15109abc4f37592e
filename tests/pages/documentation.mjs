// Tests of the documentation in a browser, against a berthd with a simulated cluster: node --test documentation.mjs
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { look_at, sizes } from './looking.mjs';
import { eventually, Platform } from './platform.mjs';

let platform, browser, page, olga;
const complaints = []; // of the browser

before(async () => {
  mkdirSync('screenshots', { recursive: true });
  platform = await Platform.start(process.env.BERTHD);
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  olga = await platform.operator('olga', {
    app_name: 'A game', redirect_uris: ['http://127.0.0.1/callback'], allowed_scopes: ['profile:read', 'points:read'],
  });
  page = await (await browser.newContext({ viewport: sizes.desktop })).newPage();
  page.setDefaultTimeout(60_000);
  page.on('console', (message) => message.type() === 'error' && complaints.push(`${message.text()} (${message.location().url})`));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`violates the policy: ${event.violatedDirective}`));
  });
});
after(async () => {
  await browser?.close();
  await platform?.stop();
});

function nothing_wrong(expected = /^$/) {
  assert.deepEqual(complaints.splice(0).filter((text) => !expected.test(text)), []);
}
const operation = (name) => page.locator(`details#${name}`);

test('every page can be read without scripts, and every link within the documentation leads somewhere', async () => {
  const pages = new Map(); // address -> HTML
  const waiting = ['/docs'];
  const links = [];
  while (waiting.length > 0) {
    const address = waiting.pop();
    if (pages.has(address)) continue;
    const answer = await fetch(platform.base + address, { redirect: 'manual' });
    assert.equal(answer.status, 200, address);
    assert.doesNotMatch(answer.headers.get('content-security-policy'), /unsafe/);
    const html = await answer.text();
    pages.set(address, html);
    assert.doesNotMatch(html, /%[A-Z]+%|undefined|\[object/, address);
    for (const [, href] of html.matchAll(/href="([^"]+)"/g)) {
      const [path, anchor] = href.startsWith('#') ? [address, href.slice(1)] : href.split('#');
      if (path !== '/docs' && !path.startsWith('/docs/')) continue;
      links.push({ from: address, path, anchor });
      if (!path.startsWith('/docs/assets/')) waiting.push(path);
    }
  }
  assert.ok(pages.size > 30, `${pages.size} pages`);
  for (const { from, path, anchor } of links.filter(({ path, anchor }) => anchor && path !== '/docs/api'))
    assert.ok(pages.get(path).includes(`id="${decodeURIComponent(anchor)}"`), `${from} links to ${path}#${anchor}`);

  const bare = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await bare.goto(`${platform.base}/docs`);
  await bare.getByRole('main').getByRole('link', { name: /^Operators/ }).first().click();
  assert.match(await bare.locator('h1').innerText(), /operators/i);
  await bare.goto(`${platform.base}/docs/api`);
  await bare.getByRole('main').getByRole('link', { name: 'a list of all operations' }).waitFor();
});

test('every code of an error, and every alert, has its place in the reference', async () => {
  const errors = await (await fetch(`${platform.base}/docs/reference/errors`)).text();
  for (const code of ['invalid_token', 'validation_failed', 'rate_limited', 'subdomain_taken'])
    assert.ok(errors.includes(`<tr id="${code}">`), code);
  const runbooks = await (await fetch(`${platform.base}/docs/runbooks/alerts`)).text();
  assert.ok(runbooks.includes('<h2 id="berthdown">'));
});

test('pages look right in both sizes, in light and dark', async () => {
  for (const [name, address] of [['list', '/docs'], ['guide', '/docs/guides/operators'], ['table', '/docs/reference/errors'], ['runbooks', '/docs/runbooks/alerts']]) {
    await page.goto(platform.base + address);
    await page.getByLabel('Search the documentation').waitFor();
    await look_at(page, `documentation-${name}`, { fullPage: false });
  }
  nothing_wrong();
});

test('the search finds a code of an error, by keyboard alone', async () => {
  await page.goto(`${platform.base}/docs`);
  await page.getByLabel('Search the documentation').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('subdomain_taken');
  await page.locator('#results a').first().waitFor();
  await look_at(page, 'documentation-search', { fullPage: false });
  await page.getByLabel('Search the documentation').press('Enter');
  await page.waitForURL(/\/docs\/reference\/errors#subdomain_taken$/);
  await page.getByLabel('Search the documentation').fill('no such word anywhere at all');
  await page.getByText('Nothing was found.').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('#results').waitFor({ state: 'hidden' });
  nothing_wrong();
});

test('the reference shows every operation, and opens the one that is linked to', async () => {
  const document = await platform.call('GET', '/.well-known/openapi.json');
  const methods = ['get', 'post', 'put', 'patch', 'delete'];
  const names = Object.values(document.paths).flatMap((item) => methods.filter((m) => item[m]).map((m) => item[m].operationId));
  await page.goto(`${platform.base}/docs/api#createDeployment`);
  const open = operation('createDeployment');
  await open.getByRole('heading', { name: 'Try it' }).waitFor();
  assert.deepEqual((await page.locator('details.operation').evaluateAll((all) => all.map((one) => one.id))).sort(), names.sort());
  const text = await open.innerText();
  for (const part of ['POST', '/api/deploy/apps', 'deploy:manage', 'Idempotency-Key', 'subdomain_taken', 'must begin with one of the allowed registries', '"tier": "free"', 'Answer 201'])
    assert.ok(text.includes(part), part);
  assert.match(text, /curl -sS -X POST '.*\/api\/deploy\/apps' \\\n\s*-H "Authorization: Bearer \$ACCESS_TOKEN"/);
  assert.equal(await open.getByRole('link', { name: 'subdomain_taken' }).getAttribute('href'), '/docs/reference/errors#subdomain_taken');
  await look_at(page, 'documentation-api', { fullPage: false });
  await page.getByLabel('Show only operations that contain').fill('webhook create');
  await page.getByText(/^\d operations?$/).waitFor();
  assert.ok((await page.locator('details.operation').count()) < 5);
  nothing_wrong();
});

test('every operation of the reference can be opened', async () => {
  await page.goto(`${platform.base}/docs/api`);
  await page.locator('details.operation').first().waitFor();
  await page.evaluate(() => document.querySelectorAll('details.operation').forEach((one) => (one.open = true)));
  await eventually('all are open', async () => (await page.locator('.try').count()) === (await page.locator('details.operation').count()));
  assert.doesNotMatch(await page.locator('main').innerText(), /undefined|\[object Object\]|NaN/);
  nothing_wrong();
});

test('whoever is logged in tries an operation; whoever isn’t is sent to the login', async () => {
  await page.goto(`${platform.base}/docs/api#me`);
  await operation('me').getByRole('button', { name: 'Try it here' }).click();
  await operation('me').getByRole('link', { name: 'Log in' }).click();
  nothing_wrong(/401/);
  await page.getByLabel('Email address').fill(olga.email);
  await page.getByLabel('Password').fill(olga.password);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/docs\/api$/);
  await page.goto('about:blank');
  await page.goto(`${platform.base}/docs/api#me`);
  await operation('me').getByRole('button', { name: 'Try it here' }).click();
  await operation('me').getByRole('button', { name: 'Send', exact: true }).click();
  await operation('me').getByText('200 OK').waitFor();
  await operation('me').getByText('"username": "olga"').waitFor();
  await look_at(page, 'documentation-try', { fullPage: false });
  nothing_wrong();
});
