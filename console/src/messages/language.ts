// The language of the console: the one that was chosen in this browser, here or on one of the hosted pages, or the first
// of the browser's own that there is.
export const languages = { en: 'English', de: 'Deutsch' };
export type Language = keyof typeof languages;

// The cookie is that of the hosted pages (api/gate/language.h).
const cookie = 'berth_language';
const kept_for = 365 * 24 * 60 * 60; // seconds
const of_tag = (tag: string) => tag.split('-')[0]!.toLowerCase();
const is_known = (name: string | undefined): name is Language => name !== undefined && Object.hasOwn(languages, name);

const chosen = document.cookie
  .split('; ')
  .find((one) => one.startsWith(`${cookie}=`))
  ?.slice(cookie.length + 1);
export const language: Language = is_known(chosen) ? chosen : (navigator.languages.map(of_tag).find(is_known) ?? 'en');

// How numbers and times are written: as in the browser's own variant of the language, such as de-AT, if it has one.
export const locale = navigator.languages.find((tag) => of_tag(tag) === language) ?? language;

// Remembers the choice for this browser.
export function remember(name: Language): void {
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `${cookie}=${name}; Path=/; SameSite=Lax; Max-Age=${kept_for}${secure}`;
}
