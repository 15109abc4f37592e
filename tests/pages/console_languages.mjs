// Tests of the console's languages, and of what its first view loads.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Desk } from './console_desk.mjs';
import { look_at, sizes } from './looking.mjs';

const first_view_limit = 100_000; // bytes, as they are transferred
let desk, platform, ada;

before(async () => {
  desk = await Desk.open();
  platform = desk.platform;
  ada = await platform.operator('ada', { app_name: 'My game', redirect_uris: ['https://www.example.com/callback'], allowed_scopes: ['profile:read', 'deploy:manage', 'app:balance:read'] });
  await desk.approve_all();
  const { access_token: token } = await platform.call('POST', '/api/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: ada.app.client_id, client_secret: ada.app.client_secret },
  });
  await platform.call('POST', '/api/deploy/apps', { headers: { Authorization: `Bearer ${token}` }, body: { name: 'site', image: 'docker.io/library/hello:1', tier: 'free' } });
});
after(() => desk?.close());

// Opens the console in a browser of its own that wants these languages.
async function in_browser(locale, address = '/console') {
  const context = await desk.browser.newContext({ viewport: sizes.desktop, locale, timezoneId: 'Europe/Vienna', reducedMotion: 'reduce' });
  const page = await desk.tab(context);
  await page.goto(`${platform.base}/login?next=${address}`);
  await page.locator('#email').fill(ada.email);
  await page.locator('#password').fill(ada.password);
  await page.keyboard.press('Enter');
  await page.waitForURL(platform.base + address);
  await page.getByRole('heading', { level: 1 }).filter({ visible: true }).first().waitFor();
  return { context, page };
}
const language_of = (page) => page.getAttribute('html', 'lang');
const languages_loaded = (page) => page.evaluate(() => performance.getEntriesByType('resource').map((entry) => /\/(en|de)-[^/]+\.js$/.exec(entry.name)?.[1]).filter(Boolean));

test('a browser that wants German gets German, with its numbers and times, and loads no other language', async () => {
  const { context, page } = await in_browser('de-AT');
  await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
  assert.equal(await language_of(page), 'de');
  assert.deepEqual(await languages_loaded(page), ['de']);
  await page.getByRole('link', { name: 'Neues Deployment' }).first().waitFor();
  await page.getByRole('link', { name: 'Punkte', exact: true }).click();
  await page.getByRole('heading', { name: 'Verlauf' }).waitFor();
  const expected = await page.evaluate(() => new Intl.DateTimeFormat('de-AT', { dateStyle: 'long' }).format(new Date()));
  const exact = await page.locator('time[title]').first().getAttribute('title');
  assert.ok(exact.startsWith(expected), exact);
  assert.match(exact, /MEZ|MESZ/, 'in the reader’s time zone');
  await page.goto(`${platform.base}/console`);
  await page.getByRole('link', { name: 'site', exact: true }).waitFor();
  await look_at(page, 'console-german-overview');
  await page.getByRole('link', { name: 'site', exact: true }).click();
  await page.getByRole('heading', { name: 'Abrechnung' }).waitFor();
  await look_at(page, 'console-german-deployment');
  for (const [address, name] of [['/new', 'Neues Deployment'], ['/account', 'Konto'], ['/apps', 'Apps'], ['/extras', 'Shop und Lernen'], ['/campaigns', 'Anzeigen'], ['/alerts', 'Meldungen']]) {
    await page.goto(`${platform.base}/console${address}`);
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    const width = await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth');
    assert.ok(width, `${address} fits`);
  }
  await look_at(page, 'console-german-market');
  desk.nothing_wrong();
  await context.close();
});

test('the language is switched in the menu, and stays switched in this browser', async () => {
  const { context, page } = await in_browser('de-DE');
  await page.getByLabel('Sprache').selectOption('English');
  await page.getByRole('heading', { name: 'Deployments', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'Log out' }).or(page.getByRole('button', { name: 'Log out' })).waitFor();
  assert.equal(await language_of(page), 'en');
  await page.reload();
  await page.getByRole('button', { name: 'Log out' }).waitFor();
  assert.deepEqual(await languages_loaded(page), ['en']);
  const account = async () => (await (await page.request.get(`${platform.base}/account`, { headers: { Accept: 'text/html' } })).text()).includes('<html lang="en">');
  assert.ok(await account(), 'the hosted pages follow the choice');
  await page.getByLabel('Language').selectOption('Deutsch');
  await page.getByRole('button', { name: 'Abmelden' }).waitFor();
  await page.goto(`${platform.base}/account`);
  await page.getByRole('heading', { name: 'Ihr Konto' }).waitFor();
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  await page.goto(`${platform.base}/console`);
  await page.getByRole('button', { name: 'Log out' }).waitFor();
  desk.nothing_wrong();
  await context.close();
});

test('a browser that wants a language that there isn’t gets English', async () => {
  const { context, page } = await in_browser('fr-FR');
  await page.getByRole('button', { name: 'Log out' }).waitFor();
  assert.equal(await language_of(page), 'en');
  await context.close();
});

for (const locale of ['en-GB', 'de-DE'])
  test(`the first view loads at most ${first_view_limit} bytes (${locale})`, async () => {
    const { context, page } = await in_browser(locale);
    await page.getByRole('link', { name: 'site', exact: true }).waitFor();
    const fresh = await context.newPage(); // what another user had loaded before isn't taken from the cache
    const session = await context.newCDPSession(fresh);
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    let bytes = 0;
    const files = new Map();
    session.on('Network.responseReceived', ({ requestId, response }) => files.set(requestId, response.url));
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (/\/console/.test(files.get(requestId) ?? '')) bytes += encodedDataLength;
    });
    await fresh.goto(`${platform.base}/console`);
    await fresh.getByRole('link', { name: 'site', exact: true }).waitFor();
    assert.ok(bytes > 10_000, 'something was measured');
    assert.ok(bytes <= first_view_limit, `${bytes} bytes`);
    console.log(`first view, ${locale}: ${bytes} bytes`);
    await context.close();
  });
