// How each kind of field is drawn. Forms and filters are lists of fields (form.tsx); nothing else of the console draws
// inputs, which forms.mjs checks.
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { t } from '../messages';
import { Bones, classes } from './ui';
import { type Choice, type FieldOf, type Kind, type Typed, type TypedVariables, value_of } from './values';
import { Pairs, Variables } from './variables';

interface Labelled {
  label: string;
  hint?: ComponentChildren;
  warning?: string | undefined;
  wrong?: string[] | undefined;
}
type Attributes = JSX.HTMLAttributes<any> & { id: string };

const sentences = (wrong: string[]) => [...new Set(wrong)].map((text) => t.errors.field(text)).join(' ');

function Field({
  label,
  hint,
  warning,
  wrong,
  mono,
  children,
}: Labelled & { mono?: boolean; children: (attributes: Attributes) => ComponentChildren }) {
  const id = useId();
  const described = [hint && `${id}-hint`, warning && `${id}-warning`, wrong && `${id}-wrong`]
    .filter(Boolean)
    .join(' ');
  const attributes: Attributes = {
    id,
    class: classes('input', mono && 'mono'),
    ...(described ? { 'aria-describedby': described } : {}),
    ...(wrong ? { 'aria-invalid': true } : {}),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(attributes)}
      {hint && (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {warning && (
        <div class="warning" id={`${id}-warning`} role="status">
          {warning}
        </div>
      )}
      {wrong && (
        <div class="wrong" id={`${id}-wrong`}>
          {sentences(wrong)}
        </div>
      )}
    </div>
  );
}

function Group({ label, hint, wrong, kind, children }: Labelled & { kind?: string; children: ComponentChildren }) {
  return (
    <fieldset class={classes('choices full', kind)}>
      <legend class={kind ? 'unseen' : 'legend'}>{label}</legend>
      {children}
      {hint && <div class="hint">{hint}</div>}
      {wrong && (
        <div class="wrong" role="alert">
          {sentences(wrong)}
        </div>
      )}
    </fieldset>
  );
}

// A choice that counts at once.
export function Select({
  choices,
  onChoose,
  ...attributes
}: JSX.HTMLAttributes<HTMLSelectElement> & {
  value: string;
  choices: readonly Choice[];
  onChoose: (value: string) => void;
}) {
  return (
    <select {...attributes} onChange={(event) => onChoose(event.currentTarget.value)}>
      {choices.map(([value, name, more]) => (
        <option key={value} value={value} lang={more?.lang}>
          {name}
        </option>
      ))}
    </select>
  );
}

// A box that is ticked at once; its label is shown or only read out.
export function Tick({
  label,
  value,
  onTick,
  shown,
}: {
  label: string;
  value: boolean;
  onTick: (yes: boolean) => void;
  shown?: boolean;
}) {
  return (
    <label class="tick">
      <input type="checkbox" checked={value} onChange={(event) => onTick(event.currentTarget.checked)} />
      <span class={shown ? 'small' : 'unseen'}>{label}</span>
    </label>
  );
}

// Words that something on the screen is searched for.
export function Words({
  label,
  onWords,
  ...attributes
}: JSX.HTMLAttributes<HTMLInputElement> & {
  label: string;
  value: string;
  type?: string;
  onWords: (words: string) => void;
}) {
  return (
    <input
      class="input"
      type="search"
      aria-label={label}
      placeholder={label}
      {...attributes}
      onInput={(event) => onWords(event.currentTarget.value)}
    />
  );
}

// The bytes of a text in base64, and the text of a file's bytes.
export const bytes_of = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
async function base64_of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const piece = 0x8000; // arguments of a call
  let text = '';
  for (let at = 0; at < bytes.length; at += piece) text += String.fromCharCode(...bytes.subarray(at, at + piece));
  return btoa(text);
}

const input_types: Partial<Record<Kind, string>> = { password: 'password', time: 'datetime-local', day: 'date' };
const rows_of: Partial<Record<Kind, number>> = { long: 3, lines: 5, texts: 5, variables: 5 };

interface Entering<B> {
  field: FieldOf<B>;
  typed: Typed;
  type: (typed: Typed) => void;
  wrong?: string[] | undefined;
  focus?: boolean;
}

function Input<B>({ field, typed, type, focus, attributes }: Entering<B> & { attributes: Attributes }) {
  const kind = field.kind ?? 'text';
  const all = {
    ...attributes,
    autofocus: focus || undefined,
    disabled: field.disabled,
    required: field.required,
    value: typed as string,
  };
  if (kind === 'picture') {
    const read = (file?: File) => (file ? void base64_of(file).then(type) : type(''));
    const { value: _, ...file } = all;
    return (
      <input {...file} type="file" accept="image/png,image/jpeg" onChange={(e) => read(e.currentTarget.files?.[0])} />
    );
  }
  if (kind === 'choice') return <Select {...all} choices={field.choices!} onChoose={type} />;
  const text = {
    ...all,
    placeholder: field.placeholder,
    maxLength: field.most,
    autocomplete: field.autocomplete ?? 'off',
    onInput: (event: { currentTarget: { value: string } }) => type(event.currentTarget.value),
  };
  if (rows_of[kind]) return <textarea {...text} rows={rows_of[kind]} spellcheck={kind === 'long'} />;
  const samples = field.samples && `${attributes.id}-samples`;
  const mode = kind === 'number' ? 'numeric' : undefined;
  const input = (
    <input {...text} type={input_types[kind] ?? 'text'} inputMode={mode} spellcheck={false} list={samples} />
  );
  return (
    <>
      {field.affix ? (
        <div class="affix">
          {input}
          <span>{field.affix}</span>
        </div>
      ) : (
        input
      )}
      {samples && (
        <datalist id={samples}>
          {field.samples!.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </>
  );
}

function Cards<B>({ field, typed, type, wrong }: Entering<B>) {
  if (!field.choices) return <Bones />;
  return (
    <Group label={field.label} hint={field.hint} wrong={wrong} kind="cards">
      {field.choices.map(([value, name, { aside, lines = [], disabled } = {}]) => (
        <label class="choice" key={value}>
          <input
            type="radio"
            name={field.name}
            value={value}
            checked={typed === value}
            disabled={disabled}
            onChange={() => type(value)}
          />
          <span class="row apart tight">
            <strong>{name}</strong>
            <span class="price number">{aside}</span>
          </span>
          {lines.map((line, index) => (
            <span class={index ? 'small faint' : 'small soft'} key={line}>
              {line}
            </span>
          ))}
        </label>
      ))}
    </Group>
  );
}

function Many<B>({ field, typed, type, wrong }: Entering<B> & { typed: string[] }) {
  const choose = (value: string, yes: boolean) => type(yes ? [...typed, value] : typed.filter((one) => one !== value));
  return (
    <Group label={field.label} hint={field.hint} wrong={wrong}>
      {field.choices!.map(([value, name]) => (
        <label class="check" key={value}>
          <input
            type="checkbox"
            checked={typed.includes(value)}
            onChange={(e) => choose(value, e.currentTarget.checked)}
          />
          <span>
            {name} {field.values_shown && <code class="small faint">{value}</code>}
          </span>
        </label>
      ))}
    </Group>
  );
}

const half_wide: Kind[] = ['short', 'number', 'choice', 'time', 'day', 'password'];

// A field as the person sees it: its label, what is typed or chosen, its hint, a warning, and what is wrong with it.
export function Entry<B>(entering: Entering<B>) {
  const { field, typed, type, wrong } = entering;
  const { kind = 'text', label, hint } = field;
  if (kind === 'cards') return <Cards {...entering} />;
  if (kind === 'many') return <Many {...entering} typed={typed as string[]} />;
  if (kind === 'check')
    return (
      <label class="check full">
        <input type="checkbox" checked={typed as boolean} onChange={(e) => type(e.currentTarget.checked)} />
        <span>
          {label}
          {hint && <span class="hint">{hint}</span>}
        </span>
      </label>
    );
  if (kind === 'claims')
    return (
      <Group label={label} hint={hint} wrong={wrong}>
        <Pairs
          pairs={(typed as TypedVariables).pairs}
          onChange={(pairs) => type({ pairs, pasted: '' })}
          words={t.claim_rows}
        />
      </Group>
    );
  const pasting = kind === 'variables' ? (typed as TypedVariables) : null;
  const text = pasting ? pasting.pasted : typed;
  const warning = wrong ? undefined : field.warn?.(value_of(field, typed));
  const enter = pasting ? (pasted: Typed) => type({ ...pasting, pasted: pasted as string }) : type;
  return (
    <div class={half_wide.includes(kind) ? '' : 'full stack'}>
      {pasting && <Variables pairs={pasting.pairs} onChange={(pairs) => type({ ...pasting, pairs })} />}
      <Field
        label={label}
        hint={hint}
        warning={warning}
        wrong={wrong}
        mono={field.mono || kind === 'lines' || kind === 'texts'}>
        {(attributes) => <Input {...entering} typed={text} type={enter} attributes={attributes} />}
      </Field>
    </div>
  );
}
