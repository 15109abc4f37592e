// The language of the console: the one that was chosen in this browser, or the first of the browser's own that there
// is.
export const languages = { en: 'English', de: 'Deutsch' };
export type Language = keyof typeof languages;

const chosen_key = 'berth.language';
const of_tag = (tag: string) => tag.split('-')[0]!.toLowerCase();
const is_known = (name: string | null): name is Language => name !== null && Object.hasOwn(languages, name);

const chosen = localStorage.getItem(chosen_key);
export const language: Language = is_known(chosen) ? chosen : (navigator.languages.map(of_tag).find(is_known) ?? 'en');

// How numbers and times are written: as in the browser's own variant of the language, such as de-AT, if it has one.
export const locale = navigator.languages.find((tag) => of_tag(tag) === language) ?? language;

// Remembers the choice for this browser, and loads the page again in that language.
export function choose(name: string): void {
  localStorage.setItem(chosen_key, name);
  location.reload();
}
