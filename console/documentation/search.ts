// The search of the documentation: reads the index when somebody begins to search, and finds the sections that contain
// all of the words. Without a script there is the list of all pages.
interface Section {
  page: string;
  heading: string;
  address: string;
  text: string;
}

const most = 12; // results that are shown
const around = 60; // characters before and after the first word that was found

const box = document.getElementById('search')!;
box.innerHTML = `<label class="unseen" for="words">Search the documentation</label>
<input id="words" type="search" placeholder="Search" autocomplete="off" aria-controls="results">
<div id="results" hidden><p role="status"></p><ul></ul></div>`;
const words = box.querySelector<HTMLInputElement>('#words')!;
const results = box.querySelector<HTMLElement>('#results')!;
const said = results.querySelector('p')!;
const list = results.querySelector('ul')!;

let index: Promise<Section[]> | undefined;
const read = () =>
  (index ??= fetch(INDEX)
    .then((answer) => answer.json() as Promise<Section[]>)
    .catch((): Section[] => ((index = undefined), [])));

// How well a section fits; 0 if one of the words is missing.
function score({ page, heading, text, address }: Section, wanted: string[]): number {
  const title = heading.toLowerCase();
  const name = page.toLowerCase();
  const body = text.toLowerCase();
  let sum = 0;
  for (const word of wanted) {
    const here =
      (title === word ? 40 : title.includes(word) ? 12 : 0) +
      (name.includes(word) ? 6 : 0) +
      (body.includes(word) ? 2 : 0);
    if (here === 0) return 0;
    sum += here;
  }
  // People who search mostly want to do something, and not to know why it is so.
  return address.startsWith('/docs/decisions/') ? sum / 2 : sum;
}

function part_of(text: string, wanted: string[]): string {
  const first = Math.max(
    0,
    ...wanted
      .map((word) => text.toLowerCase().indexOf(word))
      .filter((at) => at >= 0)
      .slice(0, 1),
  );
  const start = Math.max(0, first - around);
  return `${start > 0 ? '…' : ''}${text.slice(start, first + 2 * around)}${first + 2 * around < text.length ? '…' : ''}`;
}

async function search() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const sections = wanted.length > 0 ? await read() : [];
  // The person has typed on meanwhile.
  if (wanted.join(' ') !== words.value.toLowerCase().split(/\s+/).filter(Boolean).join(' ')) return;
  const found = sections
    .map((section) => ({ section, fits: score(section, wanted) }))
    .filter(({ fits }) => fits > 0)
    .sort((a, b) => b.fits - a.fits)
    .slice(0, most);
  results.hidden = wanted.length === 0;
  said.textContent =
    found.length === 0 ? 'Nothing was found.' : `${found.length === most ? 'The first ' : ''}${found.length} results`;
  list.replaceChildren(
    ...found.map(({ section }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = section.address;
      link.textContent = section.heading ? `${section.page}: ${section.heading}` : section.page;
      const text = document.createElement('span');
      text.textContent = part_of(section.text, wanted);
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
document.addEventListener('keydown', (event) => {
  const typing = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  words.focus();
});

declare const INDEX: string; // its address, which the build puts in

export {};
