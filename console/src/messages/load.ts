// Loads the file of the language that is in use, and no other one.
import type { Messages } from './en';
import { language, type Language } from './language';

const files: Record<Language, () => Promise<Messages>> = {
  en: () => import('./en').then((file) => file.en),
  de: () => import('./de').then((file) => file.de),
};
export const messages = files[language]();
