// Variables while they are edited (console/src/components/variable_rows.ts), and what the history says of those of an app
// (console/src/screens/rollouts.ts).
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { build } from '../../console/node_modules/esbuild/lib/main.js';

const folder = mkdtempSync(join(tmpdir(), 'berth-variables-'));
after(() => rmSync(folder, { recursive: true }));
const bundled = async (file) => {
  const outfile = join(folder, file.replaceAll('/', '-') + '.mjs');
  await build({ entryPoints: [new URL(`../../console/src/${file}`, import.meta.url).pathname], bundle: true, format: 'esm', outfile });
  return import(outfile);
};
const { changes_of, rows_of, text_of } = await bundled('components/variable_rows.ts');
const { lines_of, rollouts_in, undone_since } = await bundled('screens/rollouts.ts');

const own = { name: 'OWN', stored: true, inherited: false };
const of_app = { name: 'SHARED', stored: true, inherited: true };
const sent = (rows) => changes_of(rows).env_vars;

test('what is inherited isn’t sent unless it gets a value, and can’t be removed', () => {
  assert.deepEqual(sent([own, of_app]), {});
  assert.deepEqual(sent([own, { ...of_app, value: 'x' }]), { SHARED: 'x' });
  assert.deepEqual(changes_of([{ ...own, value: '2' }, { ...of_app, value: 'x' }]), {
    env_vars: { OWN: '2', SHARED: 'x' }, added: ['SHARED'], changed: ['OWN'], removed: [],
  });
  assert.deepEqual(sent([{ ...own, removed: true }, of_app]), { OWN: null });
});

test('the text of a .env file has what is inherited only where it is overridden', () => {
  const rows = [own, of_app];
  assert.equal(text_of(rows), 'OWN=••••••');
  assert.deepEqual(sent(rows_of(text_of(rows), rows)), {});
  assert.deepEqual(sent(rows_of('', rows)), { OWN: null });
  const overridden = rows_of('OWN=••••••\nSHARED=x', rows);
  assert.deepEqual(sent(overridden), { SHARED: 'x' });
  assert.equal(text_of(overridden), 'OWN=••••••\nSHARED=x');
  assert.deepEqual(sent(rows_of('OWN=••••••', overridden)), {}, 'its line is gone: it is inherited again');
});

// The entries of a rollout: its beginning and its end.
let number = 0;
const entry = (generation, kind, status, more = {}, action = 'deploy') =>
  ({ id: String(++number).padStart(4, '0'), action, status, initiated_by: null, details: { generation, kind, ...more }, inserted_at: '' });
const rollout = (generation, kind, changes) => [
  entry(generation, kind, 'started', changes ? { changes: [changes] } : {}),
  entry(generation, kind, 'succeeded', { image: 'web:1' }),
];

test('a change of the app’s variables is a rollout to which nothing is rolled back', () => {
  const image = { field: 'image', from: 'web:1', to: 'web:2' };
  const shared = { field: 'app_variables', added: ['SHARED'], changed: [], removed: [] };
  const entries = [...rollout(1, 'create'), ...rollout(2, 'patch', image), ...rollout(3, 'app_variables', shared)];
  const lines = lines_of(entries);
  assert.deepEqual(lines.map((line) => [line.details.kind, line.entry.status, line.overtaken]), [
    ['app_variables', 'succeeded', false], ['patch', 'succeeded', false], ['create', 'succeeded', false],
  ]);
  const { newest, serving, targets, previous } = rollouts_in(entries);
  assert.equal(newest.details.generation, 3);
  assert.equal(serving.details.generation, 3);
  assert.deepEqual(targets.map((line) => line.details.generation), [1], 'the server refuses what the present settings are');
  assert.equal(previous.line.details.generation, 1);
  assert.deepEqual(previous.undone, [image], 'the variables of the app stay');
  assert.deepEqual(undone_since(lines, lines.at(-1)), [image]);
});
