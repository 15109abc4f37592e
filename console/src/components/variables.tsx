// Editing environment variables: rows of name and value, and a whole .env file pasted into one of them.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../messages';
import { Button, Time } from './ui';
import { type Pair, parse_env } from './values';
import { type Edited, is_inherited, rows_of, text_of } from './variable_rows';

interface PairWords {
  add: string;
  value: string;
  name_of: (n: number) => string;
  value_of: (name: string | number) => string;
  remove: (name: string) => string;
}

// Rows of a name and a value. `onPaste` may take what is pasted into the name of a row.
export function Pairs({
  pairs,
  onChange,
  onPaste,
  words,
  beside,
}: {
  pairs: Pair[];
  onChange: (pairs: Pair[]) => void;
  onPaste?: (event: ClipboardEvent, index: number) => void;
  words: PairWords;
  beside?: ComponentChildren; // the button that adds a row
}) {
  const change = (index: number, part: Partial<Pair>) =>
    onChange(pairs.map((pair, i) => (i === index ? { ...pair, ...part } : pair)));
  return (
    <div class="stack tight">
      <div class="pairs">
        {pairs.map((pair, index) => (
          <div class="pair" key={index}>
            <input
              class="input mono"
              aria-label={words.name_of(index + 1)}
              placeholder="NAME"
              autocomplete="off"
              spellcheck={false}
              value={pair.name}
              onInput={(e) => change(index, { name: e.currentTarget.value })}
              {...(onPaste ? { onPaste: (e: ClipboardEvent) => onPaste(e, index) } : {})}
            />
            <input
              class="input mono value"
              aria-label={words.value_of(pair.name || index + 1)}
              placeholder={words.value}
              autocomplete="off"
              spellcheck={false}
              value={pair.value}
              onInput={(e) => change(index, { value: e.currentTarget.value })}
            />
            <Button
              kinds={['plain']}
              icon="close"
              label={words.remove(pair.name || String(index + 1))}
              onClick={() => onChange(pairs.filter((_, i) => i !== index))}
            />
          </div>
        ))}
      </div>
      <div class="row tight">
        <Button slim icon="plus" onClick={() => onChange([...pairs, { name: '', value: '' }])}>
          {words.add}
        </Button>
        {beside}
      </div>
    </div>
  );
}

export function Variables({ pairs, onChange }: { pairs: Pair[]; onChange: (pairs: Pair[]) => void }) {
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
    <Pairs
      pairs={pairs}
      onChange={onChange}
      onPaste={paste}
      words={t.variables}
      beside={<span class="small faint">{t.variables.paste_hint}</span>}
    />
  );
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
