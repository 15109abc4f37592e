// The check that finds forms which are written by hand (console/forms.mjs) finds those, and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputs_in } from '../../console/forms.mjs';

const finds = (source, ...names) => assert.deepEqual(inputs_in(source).map((found) => found.replace(/^\d+: /, '')), names);

test('elements of a form are found, however they are made', () => {
  finds('const a = <form onSubmit={send}><Field>{(f) => <input {...f} />}</Field></form>;', '<form>', '<input>');
  finds('const a = <fieldset><select value="a" /><textarea /><datalist id="b" /></fieldset>;', '<fieldset>', '<select>', '<textarea>', '<datalist>');
  finds('const a = h("input", { name }); document.createElement("textarea");', '<input>', '<textarea>');
  finds('box.innerHTML = `<label>${name} <input id="words"></label>`;', '<input>');
  finds('const a = <div contentEditable={open} />;', '<div contenteditable>');
});
test('lists of fields and other elements are left alone', () => {
  finds('const a = <Form fields={fields} run={send}><p class="input">{t.form}</p></Form>; const b = <Select choices={c} />;');
  finds('const a = document.querySelector<HTMLInputElement>("input[name=tier]"); const b = { input: 1, form: "form" };');
});
