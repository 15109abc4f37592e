// What a field is: what a person types into each kind, and what is sent of it. fields.tsx draws them.
import type { ComponentChildren } from 'preact';

export const kinds = [
  'text',
  'short', // a text that needs half of the width
  'long', // a text of several lines
  'lines', // words, one on each line
  'texts', // texts with any characters, one on each line
  'number',
  'choice',
  'cards', // a choice whose items have more to say than their names
  'many', // a choice of several
  'check',
  'time',
  'day',
  'password',
  'variables', // of an environment
  'claims', // names and texts; a name that is there several times has several texts
  'picture', // a file, in base64
] as const;
export type Kind = (typeof kinds)[number];

interface More {
  aside?: string;
  lines?: string[];
  disabled?: boolean;
  lang?: string;
}
export type Choice = readonly [value: string, name: string, more?: More];

export interface Pair {
  name: string;
  value: string;
}

// Reads the lines of a .env file: comments, `export`, quotes with \n in double ones.
export function parse_env(text: string): Pair[] {
  const pairs: Pair[] = [];
  const pattern =
    /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*("(?:\\[\s\S]|[^"\\])*"|'[^']*'|[^\r\n]*)/gm;
  for (const [, name, raw] of text.matchAll(pattern)) {
    let value = raw!.trim();
    if (value.startsWith('"') && value.endsWith('"') && value.length > 1)
      value = value.slice(1, -1).replace(/\\([nrt"\\$])/g, (_, c: string) => ({ n: '\n', r: '\r', t: '\t' })[c] ?? c);
    else if (value.startsWith("'") && value.endsWith("'") && value.length > 1) value = value.slice(1, -1);
    else value = value.replace(/\s+#.*$/, '');
    pairs.push({ name: name!, value });
  }
  return pairs;
}

export const as_object = (pairs: Pair[]) =>
  Object.fromEntries(pairs.filter((pair) => pair.name.trim()).map((pair) => [pair.name.trim(), pair.value]));

export interface TypedVariables {
  pairs: Pair[];
  pasted: string; // a .env file
}
export type Typed = string | boolean | string[] | TypedVariables;

// A field of B, or one of an object in B: registry_credentials.username.
type Inner<O> = O extends unknown[] | string ? never : string extends keyof O ? never : keyof O & string;
type Name<B> = { [K in keyof B & string]: K | `${K}.${Inner<NonNullable<B[K]>>}` }[keyof B & string];

// A field of the request's body B.
export type FieldOf<B> = Row & { name: Name<B> & string };
export interface Row {
  label: string;
  hint?: ComponentChildren;
  kind?: Kind;
  choices?: readonly Choice[] | undefined; // undefined while they are being read
  values_shown?: boolean; // beside the names of the choices
  mono?: boolean;
  autocomplete?: string;
  placeholder?: string;
  samples?: string[]; // that the browser offers
  affix?: string | undefined; // what stands behind the text
  most?: number; // characters that can be typed
  required?: boolean; // the form can't be sent as long as this is empty
  expected?: string; // the form can't be sent until just this was typed
  // Says what is wrong with the value before berthd is asked, beside what the other fields have.
  check?: (value: any, all: Record<string, any>) => string | undefined;
  // Says what the value may lead to, while it is typed; it can be sent all the same.
  warn?: (value: unknown) => string | undefined;
  disabled?: boolean; // and not sent
  errors?: string[]; // the codes of refusals that are about this field
  card?: string; // the title of the card that the field stands in, if the form has cards
}

const two_digits = (n: number) => String(n).padStart(2, '0');

// The form of a time that <input type=datetime-local> takes, in the reader's zone.
function local_time(iso: string): string {
  const at = new Date(iso);
  const day = [at.getFullYear(), two_digits(at.getMonth() + 1), two_digits(at.getDate())].join('-');
  return `${day}T${two_digits(at.getHours())}:${two_digits(at.getMinutes())}`;
}

// A text that wouldn't survive as a line of its own is written as a JSON string.
const line_of = (text: string) => (/^$|^"|^\s|\s$|[\r\n]/.test(text) ? JSON.stringify(text) : text);
function text_of(line: string): string {
  try {
    return line.startsWith('"') ? String(JSON.parse(line)) : line;
  } catch {
    return line;
  }
}

export const variables_of = ({ pairs, pasted }: TypedVariables) => ({
  ...as_object(parse_env(pasted)),
  ...as_object(pairs),
});

// What the rows of a field of the kind `claims` say: each name's text, or its texts.
function claims_of(pairs: Pair[]): Record<string, string | string[]> {
  const claims: Record<string, string | string[]> = {};
  for (const { name, value } of pairs) {
    const key = name.trim(),
      text = value.trim(),
      before = claims[key];
    if (key) claims[key] = before === undefined ? text : [before, text].flat();
  }
  return claims;
}

// What stands in the field when it has that value.
export function typed_of<B>({ kind, choices }: FieldOf<B>, value: unknown): Typed {
  if (kind === 'check') return !!value;
  if (kind === 'many') return (value ?? []) as string[];
  if (kind === 'lines') return ((value ?? []) as string[]).join('\n');
  if (kind === 'texts') return ((value ?? []) as string[]).map(line_of).join('\n');
  if (kind === 'variables') return { pairs: (value ?? []) as Pair[], pasted: '' };
  if (kind === 'claims') {
    const claims = Object.entries((value ?? {}) as Record<string, string | string[]>);
    return { pairs: claims.flatMap(([name, texts]) => [texts].flat().map((value) => ({ name, value }))), pasted: '' };
  }
  if (kind === 'time') return value ? local_time(String(value)) : '';
  if (kind === 'choice') return String(value ?? choices![0]![0]);
  return String(value ?? '');
}

// A text that isn't a number is sent as it was typed, so that berthd says what is wrong with it.
export function value_of<B>({ kind }: FieldOf<B>, typed: Typed): unknown {
  if (kind === 'variables') return variables_of(typed as TypedVariables);
  if (kind === 'claims') return claims_of((typed as TypedVariables).pairs);
  if (typeof typed !== 'string') return typed;
  if (kind === 'lines') return typed.split(/\s+/).filter(Boolean);
  if (kind === 'texts')
    return typed
      .split('\n')
      .filter((line) => line.trim())
      .map((line) => text_of(line.trim()));
  if (kind === 'password') return typed || null;
  const text = typed.trim();
  if (kind === 'long') return text;
  if (!text) return null;
  if (kind === 'number') return /^-?\d+$/.test(text) ? Number(text) : text;
  if (kind === 'time') return new Date(text).toISOString();
  return text;
}

export const is_empty = (value: unknown) =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

// Returns the body with the value of the field of this name. A name with a point is that of a field in an object.
export function with_value<B>(body: B, name: string, value: unknown): B {
  const [outer, inner] = name.split('.') as [keyof B, string?];
  return { ...body, [outer]: inner ? { ...body[outer], [inner]: value } : value };
}
