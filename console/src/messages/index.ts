// All texts of the console, in the language that is in use; only its file is loaded. Another language is another file
// of the type Messages, named in language.ts and load.ts.
import type { Messages } from './en';
import { language } from './language';
import { messages } from './load';

// Within a sentence, what somebody wrote from right to left must not reorder the words around it (UAX #9, section 6.3).
const right_to_left = /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const isolated = (value: unknown) =>
  typeof value === 'string' && right_to_left.test(value) ? `\u2068${value}\u2069` : value;
export function isolating<T>(texts: T): T {
  if (typeof texts === 'function') return ((...values: unknown[]) => texts(...values.map(isolated))) as T;
  if (typeof texts !== 'object' || texts === null || Array.isArray(texts)) return texts;
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, isolating(text)])) as T;
}

export const t: Messages = isolating(await messages);
document.documentElement.lang = language;

export type Reason = keyof Messages['reasons'];
export type ScopeName = keyof Messages['scopes'];
// What a scope lets its holder do, in words; its name if there are none.
export const scope_text = (scope: string): string =>
  ({ ...t.scopes, ...t.personal_scopes })[scope as ScopeName] ?? scope;
export const automatic_scopes: string[] = ['profile:read', 'points:read'];
