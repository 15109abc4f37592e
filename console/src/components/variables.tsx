// Editing environment variables: rows of name and value, and a whole .env file pasted into one of them.
import { useState } from 'preact/hooks';
import { t } from '../messages';
import { Button, Time } from './ui';
import { type Pair, parse_env } from './values';

export function Variables({ pairs, onChange }: { pairs: Pair[]; onChange: (pairs: Pair[]) => void }) {
  const change = (index: number, part: Partial<Pair>) =>
    onChange(pairs.map((pair, i) => (i === index ? { ...pair, ...part } : pair)));
  // Several lines pasted into a name are taken as a .env file.
  function paste(event: ClipboardEvent, index: number) {
    const text = event.clipboardData?.getData('text') ?? '';
    if (!/=/.test(text)) return;
    const found = parse_env(text);
    if (!found.length) return;
    event.preventDefault();
    const names = new Set(found.map((pair) => pair.name));
    onChange([...pairs.filter((pair, i) => i !== index && !names.has(pair.name)), ...found]);
  }
  return (
    <div class="stack tight">
      <div class="pairs">
        {pairs.map((pair, index) => (
          <div class="pair" key={index}>
            <input
              class="input mono"
              aria-label={t.variables.name_of(index + 1)}
              placeholder="NAME"
              autocomplete="off"
              spellcheck={false}
              value={pair.name}
              onInput={(e) => change(index, { name: e.currentTarget.value })}
              onPaste={(e) => paste(e, index)}
            />
            <input
              class="input mono value"
              aria-label={t.variables.value_of(pair.name || index + 1)}
              placeholder={t.variables.value}
              autocomplete="off"
              spellcheck={false}
              value={pair.value}
              onInput={(e) => change(index, { value: e.currentTarget.value })}
            />
            <Button
              kinds={['plain']}
              icon="close"
              label={t.variables.remove(pair.name || String(index + 1))}
              onClick={() => onChange(pairs.filter((_, i) => i !== index))}
            />
          </div>
        ))}
      </div>
      <div class="row tight">
        <Button slim icon="plus" onClick={() => onChange([...pairs, { name: '', value: '' }])}>
          {t.variables.add}
        </Button>
        <span class="small faint">{t.variables.paste_hint}</span>
      </div>
    </div>
  );
}

// A variable as it is edited: one that is stored has no value here, because values are never given back.
export interface Edited {
  name: string;
  stored: boolean;
  value?: string | undefined; // undefined: the stored one stays
  removed?: boolean;
  set_at?: string | null;
  inherited?: boolean; // the app's: a value makes it one of the deployment's own, which takes its place
  overrides?: boolean; // takes the place of one of the app's
}

const is_inherited = (row: Edited) => !!row.inherited && row.value === undefined;

const unchanged = '••••••'; // stands for a stored value in the text
const quoted = (value: string) => (/[\s"'#\\]/.test(value) ? JSON.stringify(value) : value);

export const text_of = (rows: Edited[]) =>
  rows
    .filter((row) => row.name && !row.removed && !is_inherited(row))
    .map((row) => `${row.name}=${row.value === undefined ? unchanged : quoted(row.value)}`)
    .join('\n');

// What the text says, as rows: a stored variable that isn't named any more is removed, or is inherited again.
export function rows_of(text: string, before: Edited[]): Edited[] {
  const named = new Map(parse_env(text).map(({ name, value }) => [name, value]));
  const kept = before
    .filter((row) => row.stored)
    .map((row) => {
      const value = named.get(row.name);
      const { removed: _, ...rest } = row;
      return value === undefined
        ? { ...rest, value: undefined, ...(row.inherited ? {} : { removed: true }) }
        : { ...rest, value: value === unchanged ? undefined : value };
    });
  const fresh = [...named]
    .filter(([name, value]) => value !== unchanged && !kept.some((row) => row.name === name))
    .map(([name, value]) => ({ name, stored: false, value }));
  return [...kept, ...fresh];
}

// What has to be sent, and what people are told of it.
export function changes_of(rows: Edited[]) {
  const env_vars: Record<string, string | null> = {};
  const added: string[] = [],
    changed: string[] = [],
    removed: string[] = [];
  for (const { name, stored, value, removed: gone, inherited } of rows) {
    if (!name.trim()) continue;
    if (gone) removed.push(name);
    else if (value !== undefined) (stored && !inherited ? changed : added).push(name.trim());
    else continue;
    env_vars[name.trim()] = gone ? null : (value ?? '');
  }
  return { env_vars, added, changed, removed };
}

// All variables in a table, names and values side by side.
export function VariableTable({ rows, onChange }: { rows: Edited[]; onChange: (rows: Edited[]) => void }) {
  const change = (index: number, part: Partial<Edited>) =>
    onChange(rows.map((row, i) => (i === index ? { ...row, ...part } : row)));
  function paste(event: ClipboardEvent, index: number) {
    const text = event.clipboardData?.getData('text') ?? '';
    const found = /=/.test(text) ? parse_env(text) : [];
    if (!found.length) return;
    event.preventDefault();
    const rest = rows.filter((row, i) => i !== index || row.stored);
    const pasted = new Map(found.map(({ name, value }) => [name, value]));
    onChange([
      ...rest.map((row) => (pasted.has(row.name) ? { ...row, value: pasted.get(row.name), removed: false } : row)),
      ...found
        .filter(({ name }) => !rest.some((row) => row.name === name))
        .map(({ name, value }) => ({ name, value, stored: false })),
    ]);
  }
  return (
    <ul class="variables" aria-label={t.variables.heading}>
      {rows.map((row, index) => (
        <li key={row.stored ? row.name : index} class={row.removed ? 'gone' : undefined}>
          {row.stored ? (
            <code class="name break">{row.name}</code>
          ) : (
            <input
              class="input mono name"
              aria-label={t.variables.name_of(index + 1)}
              placeholder="NAME"
              autocomplete="off"
              spellcheck={false}
              value={row.name}
              onInput={(e) => change(index, { name: e.currentTarget.value })}
              onPaste={(e) => paste(e, index)}
            />
          )}
          <input
            class="input mono value"
            aria-label={t.variables.value_of(row.name || index + 1)}
            placeholder={row.inherited ? t.variables.of_app : row.stored ? t.variables.stored : t.variables.value}
            autocomplete="off"
            spellcheck={false}
            disabled={!!row.removed}
            value={row.value ?? ''}
            onInput={(e) => change(index, { value: e.currentTarget.value })}
          />
          <span class="small faint when">
            {row.stored && row.value !== undefined && !row.removed ? (
              row.inherited ? (
                t.variables.overrides
              ) : (
                t.variables.changed
              )
            ) : row.removed ? (
              row.overrides ? (
                t.variables.inherits
              ) : (
                t.variables.removed
              )
            ) : (
              <>
                {row.set_at && <Time at={row.set_at} />}
                {row.overrides && <div>{t.variables.overrides}</div>}
              </>
            )}
          </span>
          {is_inherited(row) ? (
            <span />
          ) : row.stored && (row.removed || row.value !== undefined) ? (
            <Button
              slim
              kinds={['plain']}
              icon="back"
              label={t.variables.undo(row.name)}
              onClick={() => change(index, { value: undefined, removed: false })}
            />
          ) : (
            <Button
              slim
              kinds={['plain']}
              icon="trash"
              label={t.variables.remove(row.name || String(index + 1))}
              onClick={() =>
                row.stored ? change(index, { removed: true }) : onChange(rows.filter((_, i) => i !== index))
              }
            />
          )}
        </li>
      ))}
    </ul>
  );
}

// The same as the text of a .env file.
export function VariableText({ rows, onChange }: { rows: Edited[]; onChange: (rows: Edited[]) => void }) {
  const [text, type] = useState(() => text_of(rows));
  return (
    <textarea
      class="input mono"
      aria-label={t.variables.as_text}
      rows={Math.max(8, rows.length + 2)}
      spellcheck={false}
      autocomplete="off"
      value={text}
      onInput={(event) => {
        type(event.currentTarget.value);
        onChange(rows_of(event.currentTarget.value, rows));
      }}
    />
  );
}
