// A form that is made of a list of fields. What was typed stays until berthd has accepted it, and berthd's message
// about a field is shown beside that field.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { newKey } from '../api';
import { t } from '../messages';
import { Button, Dialog, Field } from './ui';
import { useSubmit } from './use';

type Typed = string | boolean | string[];

// A field of the request's body B. `short` is a text that needs half of the width, `lines` is a list with one item on
// each line, `many` a choice of several.
export interface FieldOf<B> {
  name: keyof B & string;
  label: string;
  hint?: ComponentChildren;
  kind?: 'text' | 'short' | 'long' | 'lines' | 'number' | 'choice' | 'check' | 'many' | 'time' | 'password';
  choices?: readonly (readonly [value: string, name: string])[];
  values_shown?: boolean; // beside the names of the choices
  mono?: boolean;
  autocomplete?: string;
  placeholder?: string;
  errors?: string[]; // the codes of refusals that are about this field
}

const two_digits = (n: number) => String(n).padStart(2, '0');

// The form of a time that <input type=datetime-local> takes, in the reader's zone.
function local_time(iso: string): string {
  const at = new Date(iso);
  const day = [at.getFullYear(), two_digits(at.getMonth() + 1), two_digits(at.getDate())].join('-');
  return `${day}T${two_digits(at.getHours())}:${two_digits(at.getMinutes())}`;
}

function typed_of<B>({ kind, choices }: FieldOf<B>, value: unknown): Typed {
  if (kind === 'check') return !!value;
  if (kind === 'many') return (value ?? []) as string[];
  if (kind === 'lines') return ((value ?? []) as string[]).join('\n');
  if (kind === 'time') return value ? local_time(String(value)) : '';
  if (kind === 'choice') return String(value ?? choices![0]![0]);
  return String(value ?? '');
}

// A text that isn't a number is sent as it was typed, so that berthd says what is wrong with it.
function value_of<B>({ kind }: FieldOf<B>, typed: Typed): unknown {
  if (typeof typed !== 'string') return typed;
  if (kind === 'lines') return typed.split(/\s+/).filter(Boolean);
  if (kind === 'password') return typed || null;
  const text = typed.trim();
  if (kind === 'long') return text;
  if (!text) return null;
  if (kind === 'number') return /^-?\d+$/.test(text) ? Number(text) : text;
  if (kind === 'time') return new Date(text).toISOString();
  return text;
}

function Input<B>({
  field,
  typed,
  type,
  attributes,
  first,
}: {
  field: FieldOf<B>;
  typed: Typed;
  type: (typed: Typed) => void;
  first: boolean;
  attributes: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean; class: string };
}) {
  const common = { ...attributes, ...(first ? { autofocus: true } : {}) };
  const take = (event: { currentTarget: { value: string } }) => type(event.currentTarget.value);
  if (field.kind === 'choice')
    return (
      <select {...common} value={typed as string} onChange={take}>
        {field.choices!.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    );
  if (field.kind === 'long' || field.kind === 'lines')
    return (
      <textarea
        {...common}
        rows={field.kind === 'lines' ? 5 : 3}
        spellcheck={field.kind === 'long'}
        placeholder={field.placeholder}
        value={typed as string}
        onInput={take}
      />
    );
  return (
    <input
      {...common}
      type={{ password: 'password', time: 'datetime-local' }[field.kind as string] ?? 'text'}
      inputMode={field.kind === 'number' ? 'numeric' : undefined}
      autocomplete={field.autocomplete ?? 'off'}
      spellcheck={false}
      placeholder={field.placeholder}
      value={typed as string}
      onInput={take}
    />
  );
}

function Many<B>({
  field,
  typed,
  type,
  wrong,
}: {
  field: FieldOf<B>;
  typed: string[];
  type: (typed: Typed) => void;
  wrong: string[] | undefined;
}) {
  return (
    <fieldset class="choices full">
      <legend class="legend">{field.label}</legend>
      {field.choices!.map(([value, name]) => (
        <label class="check" key={value}>
          <input
            type="checkbox"
            checked={typed.includes(value)}
            onChange={(e) => type(e.currentTarget.checked ? [...typed, value] : typed.filter((one) => one !== value))}
          />
          <span>
            {name} {field.values_shown && <code class="small faint">{value}</code>}
          </span>
        </label>
      ))}
      {field.hint && <div class="hint">{field.hint}</div>}
      {wrong && (
        <div class="wrong" role="alert">
          {[...new Set(wrong)].map((text) => t.errors.field(text)).join(' ')}
        </div>
      )}
    </fieldset>
  );
}

interface FormProps<B> {
  fields: FieldOf<B>[];
  values?: Partial<Record<keyof B & string, unknown>> | undefined; // what the fields have at first
  changes?: boolean; // only the fields that differ from `values` are sent, empty ones as null
  action: string;
  danger?: boolean | undefined;
  // Sends the body. `once` is a key of idempotency, which is another one after each change of what was typed.
  run: (body: B, once: string) => Promise<void>;
  children?: ComponentChildren;
  onClose?: () => void;
  focus?: boolean; // the first field gets the focus
}

export function Form<B extends object>({
  fields,
  values = {},
  changes,
  action,
  danger,
  run,
  children,
  onClose,
  focus,
}: FormProps<B>) {
  const begin = () =>
    Object.fromEntries(fields.map((field) => [field.name, typed_of(field, values[field.name])])) as Record<
      string,
      Typed
    >;
  const [typed, type] = useState(begin);
  const [first] = useState(begin);
  const once = useMemo(newKey, [typed]);
  const is_same = (name: string) => JSON.stringify(typed[name]) === JSON.stringify(first[name]);
  const { busy, error, submit, wrong } = useSubmit(async () => {
    const entries = fields
      .filter((field) => !changes || !is_same(field.name))
      .map((field) => [field.name, value_of(field, typed[field.name]!)] as const);
    await run(
      Object.fromEntries(entries.filter(([, value]) => changes || (value !== null && value !== ''))) as B,
      once,
    );
    onClose?.();
  });
  const against = (field: FieldOf<B>) =>
    wrong(field.name) ?? (error && field.errors?.includes(error.code) ? [error.message] : undefined);
  const stray = error && !fields.some(against);
  const visible = (field: FieldOf<B>) => {
    const change = (value: Typed) => type({ ...typed, [field.name]: value });
    if (field.kind === 'many')
      return (
        <Many
          key={field.name}
          field={field}
          typed={typed[field.name] as string[]}
          type={change}
          wrong={against(field)}
        />
      );
    if (field.kind === 'check')
      return (
        <label class="check full" key={field.name}>
          <input
            type="checkbox"
            checked={typed[field.name] as boolean}
            onChange={(e) => change(e.currentTarget.checked)}
          />
          <span>
            {field.label}
            {field.hint && <span class="hint">{field.hint}</span>}
          </span>
        </label>
      );
    return (
      <div
        class={field.kind && field.kind !== 'text' && field.kind !== 'long' && field.kind !== 'lines' ? '' : 'full'}
        key={field.name}>
        <Field label={field.label} hint={field.hint} wrong={against(field)} mono={field.mono || field.kind === 'lines'}>
          {(attributes) => (
            <Input
              field={field}
              typed={typed[field.name]!}
              type={change}
              attributes={attributes}
              first={!!focus && field === fields[0]}
            />
          )}
        </Field>
      </div>
    );
  };
  return (
    <form class="stack" onSubmit={submit} noValidate>
      {children}
      <div class="fields">{fields.map(visible)}</div>
      {stray && (
        <p class="wrong" role="alert">
          {[error.message, ...Object.values(error.fields).flat().map(t.errors.field)].join(' ')}
        </p>
      )}
      <div class={onClose ? 'actions row' : 'row'}>
        {onClose && <Button onClick={onClose}>{t.frame.cancel}</Button>}
        <Button
          type="submit"
          kinds={danger ? ['danger', 'main-action'] : ['main-action']}
          busy={busy}
          disabled={!!changes && fields.every((field) => is_same(field.name))}>
          {action}
        </Button>
      </div>
    </form>
  );
}

const few_fields = 4; // more of them get a wider dialog

export function FormDialog<B extends object>({
  title,
  ...form
}: FormProps<B> & { title: string; onClose: () => void }) {
  return (
    <Dialog title={title} onClose={form.onClose} wide={form.fields.length > few_fields}>
      <Form {...form} focus />
    </Dialog>
  );
}
