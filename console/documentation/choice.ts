// The language in which the reader wants to see code. It is remembered by the browser, and is the same on all pages.
const key = 'berth-docs-language';

export function chosen_language(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // the browser allows no storage
  }
}

export function choose_language(name: string): void {
  try {
    localStorage.setItem(key, name);
  } catch {
    // The choice lasts for this page.
  }
}
