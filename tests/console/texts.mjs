// The check that finds texts outside of the messages (console/texts.mjs) finds those, and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { texts_in } from '../../console/texts.mjs';

const finds = (source, ...texts) => assert.deepEqual(texts_in(source).map((found) => found.replace(/^\d+: /, '')), texts);

test('texts in the markup are found', () => {
  finds('const a = <p>Nothing here</p>;', 'Nothing here');
  finds('const a = <p>{open ? "Close" : "Open"}</p>;', 'Close', 'Open');
  finds('const a = <p>{`${n} lines`}</p>;', 'lines');
});
test('texts in attributes and fields are found', () => {
  finds('const a = <Button label="Close" />;', 'Close');
  finds('const a = <img alt={wide ? "Wide" : t.narrow} />;', 'Wide');
  finds('const field = { name: "username", label: "Username" };', 'Username');
});
test('sentences are found wherever they are', () => {
  finds('note("The tier was changed.");', 'The tier was changed.');
});
test('what no person reads is left alone', () => {
  finds('const a = <p class={open ? "wide open card" : ""} key="one">{t.lists.none} – {number(3)} / berth</p>;');
  finds('if (tab === "logs") go("/apps"); const b = <Icon name="close" />; const c = <input name="token" placeholder="www.example.com" />;');
  finds('const a = <p>{tab === "logs" && t.logs.label}</p>;');
});
