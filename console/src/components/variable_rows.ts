// Variables while they are edited: as rows, as the text of a .env file, and what is sent of them.
import { parse_env } from './values';

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

export const is_inherited = (row: Edited) => !!row.inherited && row.value === undefined;

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
