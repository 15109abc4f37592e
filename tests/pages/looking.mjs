// Looks at a page as a person would, and as axe-core does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { eventually } from './platform.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const sizes = {
  telephone: { width: 390, height: 844 }, tablet: { width: 768, height: 1024 }, desktop: { width: 1280, height: 900 }, wide: { width: 1920, height: 1080 },
};
const checked_by_axe = { light: 'desktop', dark: 'telephone' };

// In light and dark and in all sizes: nothing is wider than the screen, and axe-core finds nothing. With
// BERTH_SCREENSHOTS in the environment, there is a picture of each in the folder screenshots.
export async function look_at(page, name, { fullPage = true } = {}) {
  await page.evaluate(axe);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    for (const [size, viewport] of Object.entries(sizes)) {
      if (!process.env.BERTH_SCREENSHOTS && size !== checked_by_axe[colorScheme] && colorScheme === 'dark') continue;
      await page.setViewportSize(viewport);
      if (process.env.BERTH_SCREENSHOTS) await page.screenshot({ path: `screenshots/${name}-${size}-${colorScheme}.png`, fullPage });
      // A plot takes its new size a moment after the page has.
      await eventually(`${name} fits a ${size}`, () => page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'));
      if (size !== checked_by_axe[colorScheme]) continue;
      const found = await page.evaluate('axe.run({ resultTypes: ["violations"] }).then((r) => r.violations)');
      assert.deepEqual(found.map((v) => [v.id, v.nodes.map((n) => n.html)]), [], `${name} on a ${size}, ${colorScheme}`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize(sizes.desktop);
  // The page hears of its new size a frame later. What is done next doesn't come in between.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}
