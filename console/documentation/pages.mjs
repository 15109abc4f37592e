// Makes the documentation's pages of the Markdown files: docs/ and a few files outside of it.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';
import { in_words } from './diagrams.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');

// The files outside of docs/ that are pages, with their addresses below /docs.
const others = {
  'README.md': 'readme',
  'charts/berth/README.md': 'chart',
  'SECURITY.md': 'reporting',
  'CHANGELOG.md': 'changelog',
};
// The menu. A page that isn't named here stands under the last title.
const menu = [
  ['Begin here', ['readme', 'tour', 'concepts']],
  ['Guides', ['guides/']],
  ['In operation', ['runbooks/', 'chart', 'performance', 'scale']],
  ['Reference', ['api', 'reference/']],
  ['Decisions', ['decisions']],
  ['More', ['']],
];
const names = {
  readme: 'A tour',
  tour: 'In pictures',
  chart: 'The Helm chart',
  reporting: 'Reporting a weakness',
  api: 'The API',
  decisions: 'All decisions',
};

export const escape = (text) =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const plain = (html) =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&');

const address_of = (file) =>
  others[file] ??
  (file.startsWith('docs/')
    ? file
        .slice('docs/'.length)
        .replace(/\.md$/, '')
        .replace(/\/README$/, '')
    : null);

function files() {
  const found = readdirSync(join(root, 'docs'), { recursive: true })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  return [...Object.keys(others), ...found.sort()];
}

// Gives each name once, and repetitions of it with a number, as GitHub and GitLab do.
function anchors() {
  const taken = new Set();
  return (wanted) => {
    let name = wanted;
    for (let count = 1; taken.has(name); ++count) name = `${wanted}-${count}`;
    taken.add(name);
    return name;
  };
}
const anchor_of = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replace(/ /g, '-');

// Reads one file: its title, its HTML, its headings, and what the search knows of each section. `picture` returns the
// address of a picture's file.
function read(file, known, picture) {
  const text = readFileSync(join(root, file), 'utf8').replace(/^<!--[\s\S]*?-->\s*/, '');
  const free = anchors();
  const free_row = anchors();
  const sections = [];
  const headings = [];
  let title = '';

  const target = (href) => {
    if (/^[a-z]+:/.test(href)) return href;
    const [path, anchor] = href.split('#');
    const hash = anchor ? `#${anchor}` : '';
    if (!path) return hash;
    const aimed = posix.normalize(posix.join(posix.dirname(file), path));
    if (known.has(aimed)) return `/docs/${address_of(aimed)}${hash}`;
    if (!existsSync(join(root, aimed))) throw new Error(`${file}: ${href} leads nowhere`);
    return null; // a file of the source, which berthd doesn't have
  };
  const said = (words) => sections.at(-1) && (sections.at(-1).text += ` ${words}`);

  const renderer = {
    heading({ tokens, depth }) {
      const html = this.parser.parseInline(tokens);
      const words = plain(html);
      if (depth === 1) {
        title = words;
        sections.push({ heading: '', anchor: '', text: '' });
        return `<h1>${html}</h1>\n`;
      }
      const anchor = free(anchor_of(words));
      headings.push({ depth, html, anchor });
      sections.push({ heading: words, anchor, text: '' });
      return `<h${depth} id="${anchor}">${html} <a class="anchor" href="#${anchor}" aria-label="Link to “${escape(words)}”">#</a></h${depth}>\n`;
    },
    paragraph({ tokens }) {
      const html = this.parser.parseInline(tokens);
      said(plain(html));
      return `<p>${html}</p>\n`;
    },
    listitem(item) {
      const html = this.parser.parse(item.tokens);
      said(plain(html));
      return `<li>${html}</li>\n`;
    },
    code({ text: code, lang }) {
      if (lang === 'mermaid') {
        const steps = in_words(code);
        return `<ul class="diagram">\n${steps.map((step) => `<li>${escape(step)}</li>\n`).join('')}</ul>\n`;
      }
      return `<pre><code>${escape(code)}</code></pre>\n`;
    },
    link({ href, tokens }) {
      const html = this.parser.parseInline(tokens);
      const to = target(href);
      return to === null ? html : `<a href="${escape(to)}">${html}</a>`;
    },
    image({ href, text: alternative }) {
      said(alternative);
      return `<img src="${escape(picture(posix.normalize(posix.join(posix.dirname(file), href))))}" alt="${escape(alternative)}" loading="lazy">`;
    },
    // The rows of the reference have names of their own: errors#invalid_grant.
    table({ header, rows }) {
      const cell = (tag, one) => `<${tag}>${this.parser.parseInline(one.tokens)}</${tag}>`;
      const body = rows.map((row) => {
        const cells = row.map((one) => cell('td', one));
        const word =
          file.startsWith('docs/reference/') && /<code>([\w.-]+)<\/code>/.exec(cells.slice(0, 2).join(''))?.[1];
        const words = plain(cells.join(' · '));
        if (!word) {
          said(words);
          return `<tr>${cells.join('')}</tr>\n`;
        }
        const anchor = free_row(word);
        sections.splice(-1, 0, { heading: word, anchor, text: words, is_row: true });
        return `<tr id="${anchor}">${cells.join('')}</tr>\n`;
      });
      const columns = header.map((one) => cell('th', one).replace('<th></th>', '<td></td>')).join('');
      return `<div class="table" tabindex="0"><table>\n<thead><tr>${columns}</tr></thead>\n<tbody>\n${body.join('')}</tbody>\n</table></div>\n`;
    },
  };
  const html = new Marked({ renderer }).parse(text);
  return { file, address: address_of(file), title, html, headings, sections };
}

function groups(pages) {
  const left = new Set(pages.map((page) => page.address));
  return menu
    .map(([title, wanted]) => {
      const taken = wanted.flatMap((start) =>
        [...left].filter(
          (address) =>
            address === start ||
            start === '' ||
            (start.endsWith('/') && address.startsWith(start)) ||
            address.startsWith(`${start}/`),
        ),
      );
      for (const address of taken) left.delete(address);
      return { title, pages: [...new Set(taken)].map((address) => pages.find((page) => page.address === address)) };
    })
    .filter(({ pages: some }) => some.length > 0);
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const name_of = ({ address, title }) => names[address] ?? capital(title.replace(/^(?:Decisions: |For )/, ''));
const href_of = ({ address }) => `/docs/${address}`;

function navigation(all, address) {
  return all
    .map(
      ({ title, pages }) =>
        `<h2>${title}</h2>\n<ul>\n${pages
          .map(
            (page) =>
              `<li><a href="${href_of(page)}"${page.address === address ? ' aria-current="page"' : ''}>${escape(name_of(page))}</a></li>\n`,
          )
          .join('')}</ul>\n`,
    )
    .join('');
}

function contents(headings) {
  const main = headings.filter(({ depth }) => depth === 2);
  if (main.length < 3) return '';
  const links = main
    .map(({ html, anchor }) => `<li><a href="#${anchor}">${html.replace(/<\/?a[^>]*>/g, '')}</a></li>\n`)
    .join('');
  return `<nav class="contents" aria-label="On this page">\n<p>On this page</p>\n<ul>\n${links}</ul>\n</nav>\n`;
}

// The first sentence of a page, for the list of all pages, if there is one before its first section.
function about({ sections }) {
  const text = sections.find((section) => section.heading === '')?.text.trim() ?? '';
  return escape(/^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, '.') ?? '');
}

function overview(all) {
  const cards = all
    .map(
      ({ title, pages }) =>
        `<h2>${title}</h2>\n<ul class="pages">\n${pages
          .map(
            (page) => `<li><a href="${href_of(page)}">${escape(name_of(page))}</a> <span>${about(page)}</span></li>\n`,
          )
          .join('')}</ul>\n`,
    )
    .join('');
  return `<h1>Documentation</h1>\n<p>How to run containers with berth, how to write apps for it, and how to run berth itself. These pages belong to the version of berth that serves them.</p>\n${cards}`;
}

// `picture` takes the path of a picture from the root of the source, and returns its address. Returns {index, html}:
// what the script of the search reads, and a function from the addresses of the style sheet and of the scripts to a Map
// of address -> HTML. The address of the list of all pages is empty.
export function documentation(picture) {
  const known = new Set(files());
  const read_pages = [...known].map((file) => read(file, known, picture));
  const api = {
    address: 'api',
    title: 'The API',
    headings: [],
    html: '<h1>The API</h1>\n<div id="reference"><p>The reference is being read. It needs JavaScript; without it, there is <a href="/docs/reference/operations">a list of all operations</a>, and <a href="/.well-known/openapi.json">the OpenAPI document</a> for programs.</p></div>\n',
    sections: [
      {
        heading: '',
        anchor: '',
        text: 'Every operation with its parameters, bodies, answers and errors; try it as the person who is logged in.',
      },
    ],
    has_script: true,
  };
  const pages = [...read_pages, api];
  const all = groups(pages);
  const index = pages.flatMap((page) =>
    page.sections.map(({ heading, anchor, text }) => ({
      page: name_of(page),
      heading,
      address: `/docs/${page.address}${anchor ? `#${anchor}` : ''}`,
      text: text.replace(/\s+/g, ' ').trim(),
    })),
  );
  const template = readFileSync(join(here, 'page.html'), 'utf8');
  const html = ({ style, search, reference }) => {
    const made = (page, article) =>
      Object.entries({
        TITLE: escape(page.title),
        STYLE: style,
        SEARCH: search,
        NAVIGATION: navigation(all, page.address),
        SCRIPT: page.has_script ? `<script type="module" src="${reference}"></script>` : '',
        CONTENTS: contents(page.headings),
        ARTICLE: article,
      }).reduce((filled, [name, value]) => filled.replace(`%${name}%`, () => value), template);
    const list = made({ title: 'Documentation', address: '', headings: [] }, overview(all));
    return new Map([['', list], ...pages.map((page) => [page.address, made(page, page.html)])]);
  };
  return { html, index };
}
