// All texts of the console, in the language that is in use; only its file is loaded. Another language is another file of
// the type Messages, named in language.ts and load.ts.
import type { Messages } from './en';
import { language } from './language';
import { messages } from './load';

export const t: Messages = await messages;
document.documentElement.lang = language;

export type Reason = keyof Messages['reasons'];
export type ScopeName = keyof Messages['scopes'];
export const automatic_scopes: string[] = ['profile:read', 'points:read'];
