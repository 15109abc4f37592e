// The search of the documentation: reads the index when somebody begins to search, and finds the sections that have all of
// the words, in any form, by another word for the same thing, or with a typing error. Titles and headings count most.
// Without a script there is the list of all pages.
import { fits_of, forms, words_of } from './words';

interface Section {
  page: string;
  heading: string;
  address: string;
  text: string;
  weight: number;
}
// A section with its words, and how much each of them counts in it.
interface Known extends Section {
  words: Map<string, number>;
  title: string;
}

const most = 12; // results that are shown
const most_of_page = 3; // results of one page
const around = 60; // characters before and after the first word that was found
const worth = { title: 24, heading: 16, text: 3 };

const box = document.getElementById('search')!;
box.innerHTML = `<label class="unseen" for="words">Search the documentation</label>
<input id="words" type="search" placeholder="Search" autocomplete="off" aria-controls="results">
<div id="results" hidden><p role="status"></p><ul></ul></div>`;
const words = box.querySelector<HTMLInputElement>('#words')!;
const results = box.querySelector<HTMLElement>('#results')!;
const said = results.querySelector('p')!;
const list = results.querySelector('ul')!;

function known(section: Section): Known {
  const counted = new Map<string, number>();
  const add = (text: string, points: number) => {
    for (const word of new Set(words_of(text).flatMap(forms)))
      counted.set(word, Math.max(points, counted.get(word) ?? 0));
  };
  add(section.text, worth.text);
  // The beginning of a page stands for the page; in its sections the page's name says less.
  add(section.page, section.heading ? worth.title / 3 : worth.title);
  add(section.heading, worth.heading);
  return { ...section, words: counted, title: `${section.page} ${section.heading}`.toLowerCase() };
}

let index: Promise<{ sections: Known[]; vocabulary: string[] }> | undefined;
const read = () =>
  (index ??= fetch(INDEX)
    .then((answer) => answer.json() as Promise<Section[]>)
    .then((all) => {
      const sections = all.map(known);
      return { sections, vocabulary: [...new Set(sections.flatMap(({ words: some }) => [...some.keys()]))] };
    })
    .catch(() => ((index = undefined), { sections: [], vocabulary: [] })));

// How well a section fits; 0 if one of the words is missing. `meant` has for each word what it may stand for, and how
// sure that is.
function score({ words: counted, title, weight }: Known, meant: Map<string, number>[], whole: string): number {
  let sum = 0;
  for (const candidates of meant) {
    let best = 0;
    for (const [word, sure] of candidates) best = Math.max(best, sure * (counted.get(word) ?? 0));
    if (best === 0) return 0;
    sum += best;
  }
  if (meant.length > 1 && title.includes(whole)) sum += worth.title;
  return sum * weight;
}

function part_of(text: string, wanted: Set<string>): (string | HTMLElement)[] {
  const places = [...text.matchAll(/[\p{L}\p{N}_]+/gu)].filter(([word]) =>
    forms(word.toLowerCase()).some((one) => wanted.has(one)),
  );
  const start = Math.max(0, (places[0]?.index ?? 0) - around);
  const end = Math.min(text.length, start + 3 * around);
  const shown: (string | HTMLElement)[] = [start > 0 ? '…' : ''];
  let at = start;
  for (const { 0: word, index: place } of places) {
    if (place + word.length > end) break;
    const mark = document.createElement('mark');
    mark.textContent = word;
    shown.push(text.slice(at, place), mark);
    at = place + word.length;
  }
  return [...shown, text.slice(at, end), end < text.length ? '…' : ''];
}

async function search() {
  const asked = words.value;
  const wanted = words_of(asked);
  const { sections, vocabulary } = wanted.length > 0 ? await read() : { sections: [], vocabulary: [] };
  if (asked !== words.value) return; // the person has typed on meanwhile
  const meant = wanted.map((word) => fits_of(word, vocabulary));
  const of_page = new Map<string, number>();
  const found = sections
    .map((section) => ({ section, fits: score(section, meant, wanted.join(' ')) }))
    .filter(({ fits }) => fits > 0)
    .sort((a, b) => b.fits - a.fits)
    .filter(({ section: { page } }) => {
      of_page.set(page, (of_page.get(page) ?? 0) + 1);
      return of_page.get(page)! <= most_of_page;
    })
    .slice(0, most);
  const marked = new Set(meant.flatMap((candidates) => [...candidates.keys()]));
  results.hidden = wanted.length === 0;
  said.textContent =
    found.length === 0
      ? 'Nothing was found.'
      : `${found.length === most ? 'The first ' : ''}${found.length} ${found.length === 1 ? 'result' : 'results'}`;
  list.replaceChildren(
    ...found.map(({ section }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = section.address;
      link.textContent = section.heading ? `${section.page}: ${section.heading}` : section.page;
      const text = document.createElement('span');
      text.append(...part_of(section.text, marked));
      item.append(link, text);
      return item;
    }),
  );
}

words.addEventListener('focus', () => void read());
words.addEventListener('input', () => void search());
box.addEventListener('keydown', (event) => {
  const links = [...list.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement as HTMLAnchorElement);
  if (event.key === 'Escape') {
    words.value = '';
    results.hidden = true;
    words.focus();
  } else if (event.key === 'ArrowDown') (links[at + 1] ?? links[0])?.focus();
  else if (event.key === 'ArrowUp') (links[at - 1] ?? words).focus();
  else if (event.key === 'Enter' && event.target === words) links[0]?.click();
  else return;
  event.preventDefault();
});
// A result on the page that is open: the list would hide it.
list.addEventListener('click', () => (results.hidden = true));
document.addEventListener('click', (event) => {
  if (!box.contains(event.target as Node)) results.hidden = true;
});
document.addEventListener('keydown', (event) => {
  const typing = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  words.focus();
});

declare const INDEX: string; // its address, which the build puts in
