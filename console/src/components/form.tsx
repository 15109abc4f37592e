// A form is a list of fields. What was typed stays until berthd has accepted it, also when another screen is opened in
// between. Everything that is wrong is said at once, each beside its field, until that is changed.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { newKey } from '../api';
import { t } from '../messages';
import { Entry, Words } from './fields';
import { type Cost, missing_of, Sum } from './sum';
import { Button, Card, Dialog } from './ui';
import { useSubmit } from './use';
import { type FieldOf, is_empty, type Typed, typed_of, value_of, with_value } from './values';

export type { FieldOf } from './values';

// What a person has typed or chosen so far, by the names of the fields.
type Entered = Record<string, Typed>;

// What was typed into forms of screens that were left.
const drafts = new Map<string, Entered>();
// With a key, what was typed is there again when the screen is opened again.
type Change = Entered | ((before: Entered) => Entered);
export function useDraft(key = ''): [Entered, (change: Change) => void, () => void] {
  const [entered, set] = useState<Entered>(() => drafts.get(key) ?? {});
  const enter = (change: Change) =>
    set((before) => {
      const now = typeof change === 'function' ? change(before) : change;
      if (key) drafts.set(key, now);
      return now;
    });
  return [entered, enter, () => void drafts.delete(key)];
}

// The browser asks before the page is left, such as by a reload, while `is_needed`.
export function useGuard(is_needed: boolean): void {
  useEffect(() => {
    if (!is_needed) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [is_needed]);
}

const focus_first_wrong = (form: HTMLFormElement | null) =>
  setTimeout(() => form?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus());

interface FormProps<B> {
  fields: FieldOf<B>[];
  values?: Partial<Record<keyof B & string, unknown>> | undefined; // what a field has until something is typed into it
  changes?: boolean; // only the fields that differ from `values` are sent, empty ones as null
  draft?: ReturnType<typeof useDraft>; // for a screen that has to know what is typed, or that types something itself
  action: string;
  acting?: string; // what the button says while the request is under way
  danger?: boolean | undefined;
  disabled?: boolean; // the form can't be sent, for a reason that it shows
  // What it takes or gives, which is shown above the button. The form can't be sent while points are missing.
  cost?: ((typed: Partial<B>) => Cost | null | undefined) | undefined;
  // Sends the body. `once` is a key of idempotency, which is another one for each other body.
  run: (body: B, once: string) => Promise<void>;
  children?: ComponentChildren;
  below?: (typed: Partial<B>) => ComponentChildren; // the fields: what follows from what is typed, such as a sum
  beside?: ComponentChildren; // the button
  aside?: string; // the title of a card beside those of the fields, which has the children and the button
  onClose?: () => void;
  focus?: boolean; // the first field gets the focus
}

export function Form<B extends object>({
  fields,
  values = {},
  changes,
  draft,
  action,
  acting,
  danger,
  disabled,
  cost,
  run,
  children,
  below,
  beside,
  aside,
  onClose,
  focus,
}: FormProps<B>) {
  const kept = onClose || fields.some((field) => field.kind === 'password' || field.expected) ? '' : location.pathname;
  const own = useDraft(kept && [kept, action, ...fields.map((field) => field.name), JSON.stringify(values)].join(' '));
  const [entered, enter, forget] = draft ?? own;
  const [tried, attempt] = useState(false);
  const [sent, remember] = useState<Record<string, string>>({});
  const form = useRef<HTMLFormElement>(null);
  const first = (field: FieldOf<B>) => typed_of(field, (values as Record<string, unknown>)[field.name]);
  const typed = (field: FieldOf<B>) => entered[field.name] ?? first(field);
  const value = (field: FieldOf<B>) => value_of(field, typed(field));
  const is_same = (field: FieldOf<B>) => JSON.stringify(value(field)) === JSON.stringify(value_of(field, first(field)));
  const is_sent = (field: FieldOf<B>) => !field.disabled && (changes ? !is_same(field) : !is_empty(value(field)));
  const all = Object.fromEntries(fields.map((field) => [field.name, value(field)]));
  // What can be said without berthd.
  function local(field: FieldOf<B>): string[] | undefined {
    const now = value(field);
    if (field.disabled) return;
    if (is_empty(now)) return field.required ? [t.errors.required] : undefined;
    if (field.kind === 'number' && typeof now !== 'number') return [t.errors.no_number];
    const why = field.check?.(now, all);
    return why ? [why] : undefined;
  }
  const body = fields.filter(is_sent).reduce((all, field) => with_value(all, field.name, value(field)), {} as B);
  const once = useMemo(newKey, [JSON.stringify(body)]);
  const { busy, error, submit } = useSubmit(async () => {
    remember(Object.fromEntries(fields.map((field) => [field.name, JSON.stringify(value(field))])));
    await run(body, once);
    forget();
    onClose?.();
  });
  function send(event: Event) {
    event.preventDefault();
    attempt(true);
    if (fields.some(local)) focus_first_wrong(form.current);
    else void submit(event);
  }
  useGuard(!onClose && !busy && Object.keys(entered).length > 0 && fields.some((field) => !is_same(field)));
  useEffect(() => {
    if (focus && !onClose) form.current?.querySelector<HTMLElement>('input, textarea, select')?.focus();
  }, []);

  const wrong = (field: FieldOf<B>) => {
    const known = tried ? local(field) : undefined;
    if (known) return known;
    if (sent[field.name] !== JSON.stringify(value(field))) return undefined; // it was changed since
    const said = Object.entries(error?.fields ?? {}).flatMap(([name, texts]) => {
      if (name === field.name) return texts;
      const inner = name.startsWith(`${field.name}.`) && name.slice(field.name.length + 1);
      return inner ? texts.map((text) => `“${inner}” ${text}`) : [];
    });
    if (said.length) return said;
    return error && field.errors?.includes(error.code) ? [error.message] : undefined;
  };
  const entries = (some: FieldOf<B>[]) => (
    <div class="fields">
      {some.map((field) => (
        <Entry
          key={field.name}
          field={field}
          typed={typed(field)}
          wrong={wrong(field)}
          focus={!!focus && field === fields[0]}
          type={(now) => enter((before) => ({ ...before, [field.name]: now }))}
        />
      ))}
    </div>
  );
  const about = (field: FieldOf<B>) =>
    field.errors?.includes(error?.code ?? '') ||
    Object.keys(error?.fields ?? {}).some((name) => name === field.name || name.startsWith(`${field.name}.`));
  const stray = error && !fields.some(about) && (
    <p class="wrong" role="alert">
      {[error.message, ...Object.values(error.fields).flat().map(t.errors.field)].join(' ')}
    </p>
  );
  const typed_body = fields.reduce((all, field) => with_value(all, field.name, value(field)), {} as B);
  const sum = cost?.(typed_body);
  const waits =
    disabled ||
    missing_of(sum) > 0 ||
    fields.some((field) => field.expected !== undefined && value(field) !== field.expected) ||
    (!!changes && fields.every(is_same));
  const button = (
    <Button type="submit" kinds={danger ? ['danger', 'main-action'] : ['main-action']} busy={busy} disabled={waits}>
      {busy && acting ? acting : action}
    </Button>
  );
  if (aside)
    return (
      <form class="columns" ref={form} onSubmit={send} noValidate>
        <div class="stack wide">
          {[...new Set(fields.map((field) => field.card))].map((title) => (
            <Card key={title} title={title}>
              {entries(fields.filter((field) => field.card === title))}
            </Card>
          ))}
        </div>
        <Card title={aside}>
          <div class="stack">
            {children}
            {sum && <Sum {...sum} />}
            {stray}
            {button}
          </div>
        </Card>
      </form>
    );
  return (
    <form class="stack" ref={form} onSubmit={send} noValidate>
      {children}
      {fields.length > 0 && entries(fields)}
      {below?.(typed_body)}
      {sum && <Sum {...sum} />}
      {stray}
      <div class={onClose ? 'actions row' : 'row'}>
        {onClose && <Button onClick={onClose}>{t.frame.cancel}</Button>}
        {button}
        {beside}
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

// Asks before something is done; `word` has to be typed before what can't be undone.
export function Confirm({
  word,
  ...dialog
}: {
  title: string;
  children?: ComponentChildren;
  action: string;
  danger?: boolean;
  disabled?: boolean;
  cost?: (() => Cost | null | undefined) | undefined;
  word?: string;
  run: () => Promise<void>;
  onClose: () => void;
}) {
  const fields = word
    ? [{ name: 'word' as const, label: t.frame.type_to_confirm(word), mono: true, expected: word }]
    : [];
  return <FormDialog<{ word: string }> {...dialog} fields={fields} />;
}

// Fields that a list is filtered by: each change counts at once, or with an action all of them when it is chosen.
export function Filter<F extends object>({
  fields,
  values = {},
  action,
  onFilter,
}: {
  fields: FieldOf<F>[];
  values?: Partial<F>; // what the fields have at first
  action?: string;
  onFilter: (filter: Partial<F>) => void;
}) {
  const [entered, enter] = useDraft();
  const typed = (field: FieldOf<F>, from = entered) =>
    from[field.name] ?? typed_of(field, (values as Record<string, unknown>)[field.name]);
  const filter = (from: Entered) =>
    onFilter(
      Object.fromEntries(
        fields
          .map((field) => [field.name, value_of(field, typed(field, from))] as const)
          .filter(([, value]) => !is_empty(value)),
      ) as Partial<F>,
    );
  function change(field: FieldOf<F>, now: Typed) {
    const next = { ...entered, [field.name]: now };
    enter(next);
    if (!action) filter(next);
  }
  const entries = fields.map((field) => (
    <Entry key={field.name} field={field} typed={typed(field)} type={(now) => change(field, now)} />
  ));
  if (!action) return <div class="body filters">{entries}</div>;
  return (
    <form
      class="body filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        filter(entered);
      }}>
      {entries}
      <div class="field end">
        <Button type="submit" icon="search">
          {action}
        </Button>
      </div>
    </form>
  );
}

// Words that a list is searched for: it is asked anew when they are sent, not with each letter.
export function Search({ label, onSearch }: { label: string; onSearch: (words: string) => void }) {
  const [words, type] = useState('');
  return (
    <form
      class="row tight"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(words.trim());
      }}>
      <Words class="input search" label={label} value={words} onWords={type} />
      <Button type="submit" icon="search">
        {t.palette.open}
      </Button>
    </form>
  );
}
