// Tests of the documentation in a browser, against a berthd with a simulated cluster: node --test documentation.mjs
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
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
    const said = html.replace(/<pre>[\s\S]*?<\/pre>/g, ''); // code may say anything
    assert.ok(!/%[A-Z]+%|undefined|\[object/.test(said), address);
    for (const [, href] of html.matchAll(/href="([^"]+)"/g)) {
      const [path, anchor] = href.startsWith('#') ? [address, href.slice(1)] : href.split('#');
      if (path !== '/docs' && !path.startsWith('/docs/')) continue;
      links.push({ from: address, path, anchor });
      if (!path.startsWith('/docs/assets/')) waiting.push(path);
    }
  }
  assert.ok(pages.size > 45, `${pages.size} pages`);
  // What the readers of a running berth can't do: build it. The history, and why things are so, may speak of it.
  const builds = /\bmake [a-z][a-z-]+(?=[^a-z-]*<|`)|\bmake (?:run|deb|image|cluster|bench|build|test)\b|\bcmake\b|build\/(?:dev|release)|checkout/;
  for (const [address, html] of pages)
    if (!/^\/docs\/(?:decisions|changelog)/.test(address)) assert.equal(builds.exec(html)?.[0], undefined, address);
  // From the first page, "next" leads through all of them.
  const order = [];
  for (let at = '/docs/start'; at; at = /rel="next" href="([^"]+)"/.exec(pages.get(at))?.[1]) order.push(at);
  assert.equal(order.length, pages.size - [...pages.keys()].filter((one) => one === '/docs' || one.startsWith('/docs/assets/')).length);
  for (const { from, path, anchor } of links.filter(({ path, anchor }) => anchor && path !== '/docs/api'))
    assert.ok(pages.get(path).includes(`id="${decodeURIComponent(anchor)}"`), `${from} links to ${path}#${anchor}`);

  const bare = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await bare.goto(`${platform.base}/docs`);
  await bare.getByRole('main').getByRole('link', { name: /^Operators/ }).first().click();
  assert.match(await bare.locator('h1').innerText(), /operators/i);
  // Tabs need no script either.
  await bare.goto(`${platform.base}/docs/guides/samples`);
  await bare.getByText('def login_address').waitFor({ state: 'hidden' });
  await bare.locator('label', { hasText: 'Python' }).first().click();
  await bare.getByText('def login_address').waitFor();
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
  for (const [name, address] of [['list', '/docs'], ['guide', '/docs/guides/operators'], ['table', '/docs/reference/errors'], ['runbooks', '/docs/runbooks/alerts'], ['samples', '/docs/guides/samples'], ['concepts', '/docs/concepts']]) {
    await page.goto(platform.base + address);
    await page.getByLabel('Search the documentation').waitFor();
    await look_at(page, `documentation-${name}`, { fullPage: false });
  }
  nothing_wrong();
});

test('the page of a task is short, and its code can be copied', async () => {
  const tasks = readdirSync(process.env.TASKS).map((name) => name.replace('.md', ''));
  assert.ok(tasks.length >= 10, `${tasks.length} pages`);
  await page.setViewportSize(sizes.desktop);
  const long = [];
  for (const task of tasks) {
    await page.goto(`${platform.base}/docs/tasks/${task}`);
    const height = await page.locator('article').evaluate((one) => one.getBoundingClientRect().height);
    if (height > 1.5 * sizes.desktop.height) long.push(`${task}: ${Math.round(height)} pixels`);
  }
  assert.deepEqual(long, []);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${platform.base}/docs/tasks/own-domain`);
  await page.locator('.code').first().hover();
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^berth deploy domain shop --set shop.example.com\n/);
  nothing_wrong();
});

test('diagrams are pictures, with words for those who can’t see them', async () => {
  for (const [address, count] of [['/docs/concepts', 3], ['/docs/guides/ads', 1], ['/docs/guides/one-machine', 1]]) {
    await page.goto(platform.base + address);
    assert.equal(await page.locator('figure.diagram svg').count(), count, address);
    assert.ok((await page.locator('figure.diagram details li').count()) > 3, address);
  }
});

test('the language that was chosen once is shown everywhere', async () => {
  await page.goto(`${platform.base}/docs/guides/samples`);
  await page.locator('label', { hasText: 'Go' }).first().click();
  assert.equal(await page.getByText('func loginAddress').isVisible(), true);
  assert.equal(await page.getByText('func eventOf').isVisible(), true);
  await page.goto(`${platform.base}/docs/api#spendPoints`);
  await operation('spendPoints').getByText('http.NewRequest').waitFor();
  await operation('spendPoints').getByRole('button', { name: 'curl' }).click();
  nothing_wrong();
});

// What people type, and where the first result leads.
const asked = {
  domain: '/docs/tasks/own-domain', 'custom dns': /domain/, upgrade: '/docs/tasks/upgrade', 'roll back': /rollouts|rollback/i, backup: '/docs/tasks/backup',
  k8s: /cluster|helm|chart/, upgarde: '/docs/tasks/upgrade', webhok: /webhook/i, 'github actions': /deploy-from-ci/, createDeployment: '/docs/api#createDeployment',
  'price': /cost|tiers|concepts|comparison|faq|billing|points/i, 'image_pull_failed': /image_pull_failed|troubleshooting/, troubleshoot: '/docs/tasks/troubleshooting',
};
test('the search ranks titles first, knows other words for the same thing, and typing errors', async () => {
  await page.goto(`${platform.base}/docs`);
  const box = page.getByLabel('Search the documentation');
  for (const [words, wanted] of Object.entries(asked)) {
    await box.fill('');
    await page.locator('#results').waitFor({ state: 'hidden' });
    await box.fill(words);
    await page.locator('#results a').first().waitFor();
    const first = await page.locator('#results a').first().getAttribute('href');
    if (wanted instanceof RegExp) assert.match(first, wanted, words);
    else assert.equal(first, wanted, words);
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
  // What is deprecated isn’t shown.
  assert.deepEqual((await page.locator('details.operation').evaluateAll((all) => all.map((one) => one.id))).sort(), names.filter((name) => name !== 'awardPoints').sort());
  await open.locator('details.more').evaluateAll((all) => all.forEach((one) => (one.open = true)));
  const fields = await open.locator('.fields').nth(1).locator('> li').allInnerTexts();
  assert.ok(fields.length === 3 && fields.every((one) => one.includes('required')), 'what is required comes first');
  assert.equal(await open.getByText('Another name for').count(), 0);
  const text = await open.innerText();
  for (const part of ['POST', '/api/deploy/apps', 'deploy:write', 'Idempotency-Key', 'subdomain_taken', 'must begin with one of the allowed registries', '"tier": "free"', 'Answer 201'])
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
