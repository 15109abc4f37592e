// What a person types into each kind of field, and what is sent of it (console/src/components/values.ts).
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { build } from '../../console/node_modules/esbuild/lib/main.js';

const folder = mkdtempSync(join(tmpdir(), 'berth-fields-'));
after(() => rmSync(folder, { recursive: true }));
const outfile = join(folder, 'values.mjs');
await build({ entryPoints: [new URL('../../console/src/components/values.ts', import.meta.url).pathname], bundle: true, format: 'esm', outfile });
const { is_empty, kinds, typed_of, value_of, with_value } = await import(outfile);

const choices = [['one', 'One'], ['two', 'Two']];
const sent = (kind, typed) => value_of({ kind }, typed);

// For each kind a value, and what is sent of a field that has none.
const of_kinds = {
  text: ['web', null], short: ['web', null], long: ['two\nlines', ''], lines: [['a', 'b'], []], texts: [['a b', 'c'], []], number: [3000, null],
  choice: ['two', 'one'], cards: ['two', null], many: [['two'], []], check: [true, false], time: ['2026-01-31T12:00:00.000Z', null], day: ['2026-01-31', null],
  password: ['secret', null], claims: [{ ref: 'main', id: ['1', '2'] }, {}], picture: ['aGVsbG8=', null],
};

test('a value of each kind stays as it is, and a field that nothing was typed into is empty', () => {
  assert.deepEqual(kinds.filter((kind) => kind !== 'variables').sort(), Object.keys(of_kinds).sort());
  for (const [kind, [value, nothing]] of Object.entries(of_kinds)) {
    const field = { kind, choices };
    assert.deepEqual(value_of(field, typed_of(field, value)), value, kind);
    assert.deepEqual(value_of(field, typed_of(field, undefined)), nothing, kind);
  }
  assert.deepEqual([null, '', [], {}, 0, false, 'a', ['a'], { a: 1 }].map(is_empty), [true, true, true, true, false, false, false, false, false]);
});

test('a list of texts keeps every text, also one that isn’t a line', () => {
  for (const texts of [['sh', '-c', 'echo  a | wc\nexit'], ['', ' a ', '"b"', '"', '\\n', 'c\r'], ['--name=x y', '{"a": 1}', '😀']]) {
    const typed = typed_of({ kind: 'texts' }, texts);
    assert.equal(typed.split('\n').length, texts.length, 'one on each line');
    assert.deepEqual(sent('texts', typed), texts);
  }
  assert.deepEqual(sent('texts', ' --port 80 \r\n\n--quiet\n'), ['--port 80', '--quiet']);
  assert.deepEqual(sent('texts', '"half'), ['"half'], 'what isn’t JSON is a text');
});

test('what can’t be parsed is sent as it was typed', () => {
  assert.equal(sent('number', ' 80 '), 80);
  assert.equal(sent('number', '8o'), '8o');
  assert.deepEqual(sent('lines', ' a b\nc '), ['a', 'b', 'c']);
});

test('variables are those of the rows and of the pasted file', () => {
  const pasted = '# comment\nLOG_LEVEL=debug\nexport GREETING="hello\\nworld"\n';
  assert.deepEqual(sent('variables', { pairs: [{ name: ' LOG_LEVEL ', value: 'info' }, { name: '', value: '1' }], pasted }), { LOG_LEVEL: 'info', GREETING: 'hello\nworld' });
  assert.deepEqual(sent('variables', typed_of({ kind: 'variables' }, undefined)), {});
});

test('a name with a point is a field in an object', () => {
  const body = with_value(with_value({ name: 'a' }, 'registry.username', 'u'), 'registry.password', 'p');
  assert.deepEqual(body, { name: 'a', registry: { username: 'u', password: 'p' } });
});
