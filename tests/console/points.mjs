// Points move only after a sum was shown: every operation that can take points, or gives them, is called in the console
// by a file that shows one.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const read = (folder, ending) => readdirSync(join(root, folder), { recursive: true })
  .filter((name) => name.endsWith(ending))
  .map((name) => [name, readFileSync(join(root, folder, name), 'utf8')]);

// The rows of the table of routes that may refuse for want of points take them; these give some.
const giving = ['POST /api/internal/points/mint', 'POST /api/internal/deploy/apps/{deployment_id}/refund', 'DELETE /api/external/campaigns/{id}'];
// An app calls these for its users, and nobody in the console.
const of_apps = ['/api/external/points/', '/api/points/spend', '/api/v1/external/'];
// A sum, or a condition that leaves out whatever would cost something.
const shows_sum = /<(Sum|ConfirmCharge|ConfirmTier|Give|Refund)\b|\bcost=\{|class="sum"|costs_nothing/;

test('every operation that moves points is called where a sum is shown', () => {
  const rows = read('api/resources', '.cpp').flatMap(([, text]) => text.split(/\{\.request = /).slice(1));
  const taking = rows.filter((row) => row.includes('Code::insufficient_balance')).map((row) => /^"([^"]+)"/.exec(row)[1]);
  assert.ok(taking.length >= 8, taking.join('\n'));
  const moving = [...taking, ...giving].filter((one) => !of_apps.some((path) => one.includes(path)));
  const files = read('console/src', '.tsx').concat(read('console/src', '.ts'));
  let calls = 0;
  for (const operation of moving) {
    const [method, path] = operation.split(' ');
    const called = `call\\(\\s*'${method.toLowerCase()}',\\s*'${path.replace(/[{}]/g, '\\$&')}'`;
    for (const [name, text] of files.filter(([, text]) => new RegExp(called).test(text))) {
      // data.ts has change(), whose callers show the sum.
      if (name === 'data.ts') continue;
      ++calls;
      assert.match(text, shows_sum, `${name} calls ${operation}`);
    }
  }
  const changing = files.filter(([name, text]) => name !== 'data.ts' && /\bchange\((deployment|one|free)/.test(text));
  for (const [name, text] of changing) assert.match(text, shows_sum, `${name} changes deployments`);
  console.log(`${moving.length} operations move points; ${calls} calls and ${changing.length} files that change deployments show a sum`);
  assert.ok(calls >= 10);
});
