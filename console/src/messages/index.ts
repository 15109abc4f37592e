// All texts of the console, in the language that is in use; only its file is loaded. Another language is another file of
// the type Messages, named here and in language.ts.
import type { Messages } from './en';
import { language, type Language } from './language';

const files: Record<Language, () => Promise<Messages>> = {
  en: () => import('./en').then((file) => file.en),
  de: () => import('./de').then((file) => file.de),
};

export const t: Messages = await files[language]();
document.documentElement.lang = language;

export type Reason = keyof Messages['reasons'];
export type ScopeName = keyof Messages['scopes'];
export const automatic_scopes: string[] = ['profile:read', 'points:read'];
