// The console from signing up to a rollback on a real cluster, for tests/kube/end_to_end/console.py: BERTH_URL and BERTH_DATA
// are berthd's address and data directory, BERTH_SITE the name of the deployment, BERTH_DOMAIN a domain that leads to it, and
// BERTH_PICTURES a folder, which gets a picture of each step.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Desk } from './console_desk.mjs';
import { sizes } from './looking.mjs';
import { Platform, eventually } from './platform.mjs';

const grace = { email: 'grace@example.org', username: 'grace', password: 'five random words are fine' };
const { BERTH_URL: url, BERTH_DATA: data, BERTH_SITE: site, BERTH_DOMAIN: domain, BERTH_PICTURES: pictures } = process.env;
const registry = '127.0.0.1:5000';
const measured = 240_000; // ms: the metrics server looks once in 15 s, berthd once a minute, and a line needs two minutes
let desk, page, button, link, fill, heading, status;

before(async () => {
  mkdirSync(pictures, { recursive: true });
  desk = await Desk.open(() => Platform.at(url, data));
  ({ page, button, link, fill, heading, status } = desk);
  page.setDefaultTimeout(90_000);
});
after(() => desk?.close());

// A picture of the page from its top, or from `first` on.
async function picture(name, first = page.locator('body')) {
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize(sizes.desktop);
  await first.evaluate((element) => element.scrollIntoView());
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

test('an account is made on the start page', async () => {
  await page.goto(`${url}/`);
  await picture('start');
  await link('Create an account').click();
  await fill('Email address', grace.email);
  await fill('Username', grace.username);
  await fill('Password', grace.password);
  await button('Create the account').click();
  await link(`Verify ${grace.email}`).click();
  await button('Verify my address').click();
  await heading('Deployments', 1).waitFor();
  desk.nothing_wrong();
});

test('a container runs, live on the screen', async () => {
  await link('Apps').click();
  await link('Create an app').last().click();
  await fill('Name', 'Garden');
  await page.locator('main').getByRole('button', { name: 'Create an app' }).click();
  await button('I have saved it').click();
  await desk.approve_all();
  await status('May deploy');
  await desk.go('/new');
  await fill('Image', `${registry}/${site}:1`);
  await fill('Name', site);
  await page.getByLabel('Or paste a .env file').fill('SEASON=spring\n');
  await page.locator('input[name=tier]:checked').waitFor({ state: 'attached' });
  await picture('new-deployment');
  await button('Create and start').click();
  await heading(site, 1).waitFor();
  await status('Running');
  await page.getByText(/^First rollout/).first().waitFor();
  desk.nothing_wrong();
});

test('a domain of one’s own is served with a certificate', async () => {
  await link('Domain').click();
  await fill('Domain', domain);
  await page.keyboard.press('Enter');
  await page.locator('.badge', { hasText: /^Served$/ }).waitFor();
  await picture('domain');
  desk.nothing_wrong();
});

test('the log of the real container is followed', async () => {
  await link('Logs').click();
  await page.locator('.log .line', { hasText: 'response:200' }).first().waitFor().catch(async (error) => {
    throw new Error(`${error.message}
${await page.locator('main').innerText()}`);
  });
  await picture('logs');
  desk.nothing_wrong();
});

test('what the container uses is plotted', async () => {
  await link('Overview').click();
  await button('1 hour').click();
  await picture('running');
  await eventually('a minute with requests is drawn', async () => {
    await Promise.all([page.waitForResponse(/metrics\/history/), button('Refresh the plots').click()]);
    return (await page.getByRole('img', { name: /^Requests, from \d+ to [1-9]/ }).count()) === 1;
  }, measured);
  await page.getByRole('img', { name: /^CPU in mCPU, from / }).waitFor();
  await picture('plots', heading('Over time'));
  desk.nothing_wrong();
});

test('an image that fails is rolled back, and the page was served all the while', async () => {
  await link('Settings').click();
  await fill('Image', `${registry}/crash:1`);
  await button('Save and roll out').click();
  await heading(/The new container fails/).waitFor();
  await picture('failed');
  await button('More actions').click();
  await page.getByRole('menuitem', { name: /^Roll back to/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: /^Roll back to/ }).click();
  await heading(/The new container fails/).waitFor({ state: 'detached' });
  await status('Running');
  await link('History').click();
  await page.getByText('Failed', { exact: true }).first().waitFor();
  await page.getByText('Custom domain: served').waitFor();
  assert.equal(await page.locator('.events li', { hasText: domain }).getByRole('button').count(), 0, 'a domain is nothing to go back to');
  await picture('history');
  assert.equal((await page.getByTitle(`${registry}/crash:1`).count()) > 0, true, 'the change names the image');
  desk.nothing_wrong();
});
