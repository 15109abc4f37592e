// Makes the documentation's pages of the Markdown files: docs/ and a few files outside of it.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';
import { drawn, in_words } from './diagrams.mjs';
import { escape, highlighted } from './highlight.mjs';
import { language_of, part_of, tabs } from './samples.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');

// The files outside of docs/ that are pages, with their addresses below /docs.
const others = {
  'charts/berth/README.md': 'chart',
  'examples/shop/README.md': 'guides/shop',
  'SECURITY.md': 'reporting',
  'CHANGELOG.md': 'changelog',
};
// What is for people who build berth, and stays in the source. A link to the README leads to the first page.
const in_source_only = ['docs/development.md', 'docs/performance.md', 'docs/scale.md', 'docs/reference/failover.md'];
const stands_for = { 'README.md': 'start' };

// The menu. A page that isn't named here stands under the last title.
const menu = [
  ['Begin here', ['start', 'tour', 'concepts', 'tasks/faq', 'tasks/comparison']],
  [
    'Tasks',
    [
      'tasks/install-the-client',
      'tasks/deploy-from-ci',
      'tasks/call-berth-from-a-container',
      'tasks/invite-people',
      'tasks/personal-tokens',
      'tasks/variables',
      'tasks/own-domain',
      'tasks/alerts',
      'tasks/look-into-a-container',
      'guides/samples',
      'tasks/spend-points',
      'tasks/give-points-back',
      'tasks/refund-requests',
      'tasks/scale',
      'tasks/budgets',
      'tasks/receipts',
      'tasks/show-ads',
      'tasks/troubleshooting',
      'tasks/one-machine',
      'tasks/helm',
      'tasks/backup',
      'tasks/upgrade',
    ],
  ],
  [
    'Guides',
    ['operators', 'players', 'ads', 'receipts', 'admins', 'one-machine', 'compose', 'cluster', 'sre', 'shop']
      .map((name) => `guides/${name}`)
      .concat('guides/'),
  ],
  ['In operation', ['runbooks/', 'chart', 'security', 'reporting', 'deleted-accounts']],
  ['Reference', ['api', 'reference/', 'changelog']],
  ['Decisions', ['decisions']],
  ['More', ['']],
];
const names = {
  start: 'Your first container',
  tour: 'In pictures',
  'tasks/faq': 'Questions and answers',
  'tasks/comparison': 'How berth compares',
  'guides/ads': 'Ads',
  'guides/shop': 'The samples as a whole',
  chart: 'The Helm chart',
  reporting: 'Reporting a vulnerability',
  api: 'The API',
  decisions: 'All decisions',
};
// How much the search prefers a page: people who search mostly want to do something, and not to know why it is so.
const weights = [
  [/^(start|tasks\/|guides\/samples)/, 1.35],
  [/^(guides\/|tour|concepts|api)/, 1.2],
  [/^decisions/, 0.4],
  [/^changelog/, 0.3],
];
const weight_of = (address) => weights.find(([pattern]) => pattern.test(address))?.[1] ?? 1;

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
  return [...Object.keys(others), ...found.sort()].filter((file) => !in_source_only.includes(file));
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

// Reads one file: its title, its HTML, its headings, and what the search knows of each section. `copied` returns the
// address of a picture's or a sample's file.
function read(file, known, copied) {
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
    if (stands_for[aimed]) return `/docs/${stands_for[aimed]}`;
    if (known.has(aimed)) return `/docs/${address_of(aimed)}${hash}`;
    if (language_of(aimed)) return copied(aimed);
    if (!existsSync(join(root, aimed))) throw new Error(`${file}: ${href} leads nowhere`);
    return null; // a file of the source, which berthd doesn't have
  };
  const samples_in = (tokens) =>
    tokens
      .filter(({ type }) => type === 'link')
      .map(({ href, text }) => ({ text, href, aimed: posix.normalize(posix.join(posix.dirname(file), href)) }))
      .filter(({ aimed }) => aimed.includes('#') && language_of(aimed.split('#')[0]))
      .map(({ text, aimed }) => {
        const [path, part] = aimed.split('#');
        const code = part_of(readFileSync(join(root, path), 'utf8'), part);
        return { name: text, code, language: language_of(path) };
      });
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
      const parts = samples_in(tokens);
      if (parts.length > 1) return tabs(parts, free('language'));
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
        const list = `<ul>\n${in_words(code)
          .map((step) => `<li>${escape(step)}</li>\n`)
          .join('')}</ul>\n`;
        const picture = drawn(code);
        if (!picture) return `<div class="diagram">${list}</div>`;
        return `<figure class="diagram"><div class="picture" tabindex="0" role="group" aria-label="Diagram">${picture.replace('<svg', '<svg aria-hidden="true"')}</div>\n<details><summary>The diagram in words</summary>\n${list}</details></figure>\n`;
      }
      return `<pre><code>${highlighted(code, (lang ?? '').split(' ')[0])}</code></pre>\n`;
    },
    link({ href, tokens }) {
      const html = this.parser.parseInline(tokens);
      const to = target(href);
      return to === null ? html : `<a href="${escape(to)}">${html}</a>`;
    },
    image({ href, text: alternative }) {
      said(alternative);
      return `<img src="${escape(copied(posix.normalize(posix.join(posix.dirname(file), href))))}" alt="${escape(alternative)}" loading="lazy">`;
    },
    // The rows of the reference have names of their own: errors#invalid_grant.
    table({ header, rows }) {
      const cell = (tag, one) => `<${tag}>${this.parser.parseInline(one.tokens)}</${tag}>`;
      const body = rows.map((row) => {
        const cells = row.map((one) => cell('td', one));
        const word =
          file === 'docs/reference/operations.md'
            ? plain(cells[0])
            : file.startsWith('docs/reference/') && /<code>([\w.-]+)<\/code>/.exec(cells.slice(0, 2).join(''))?.[1];
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

// Why things are as they are is for few readers: that part of the menu is folded.
const folded = 'Decisions';

function navigation(all, address) {
  const list = (pages) =>
    `<ul>\n${pages
      .map(
        (page) =>
          `<li><a href="${href_of(page)}"${page.address === address ? ' aria-current="page"' : ''}>${escape(name_of(page))}</a></li>\n`,
      )
      .join('')}</ul>\n`;
  return all
    .map(({ title, pages }) =>
      title === folded
        ? `<details${pages.some((page) => page.address === address) ? ' open' : ''}><summary>${title}</summary>\n${list(pages)}</details>\n`
        : `<h2>${title}</h2>\n${list(pages)}`,
    )
    .join('');
}

// The headings of a page, twice: beside the text and, where there is no room for that, above it.
function contents(headings) {
  const main = headings.filter(({ depth }) => depth === 2);
  if (main.length < 2) return { beside: '', above: '' };
  const links = main
    .map(({ html, anchor }) => `<li><a href="#${anchor}">${html.replace(/<\/?a[^>]*>/g, '')}</a></li>\n`)
    .join('');
  return {
    beside: `<nav class="contents" aria-label="On this page">\n<p>On this page</p>\n<ul>\n${links}</ul>\n</nav>\n`,
    above: `<details class="contents-above"><summary>On this page</summary>\n<ul>\n${links}</ul>\n</details>\n`,
  };
}

// Links to the pages before and after this one, in the order of the menu.
function neighbours(all, address) {
  const pages = all.flatMap((group) => group.pages);
  const at = pages.findIndex((page) => page.address === address);
  if (at < 0) return '';
  const link = (page, words, rel) =>
    page
      ? `<a rel="${rel}" href="${href_of(page)}"><span>${words}</span> ${escape(name_of(page))}</a>\n`
      : '<span></span>\n';
  return `<nav class="neighbours" aria-label="Previous and next page">\n${link(pages[at - 1], 'Previous', 'prev')}${link(pages[at + 1], 'Next', 'next')}</nav>\n`;
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
          .slice(0, title === folded ? 1 : pages.length)
          .map(
            (page) => `<li><a href="${href_of(page)}">${escape(name_of(page))}</a> <span>${about(page)}</span></li>\n`,
          )
          .join('')}</ul>\n`,
    )
    .join('');
  return `<h1>Documentation</h1>\n<p>How to run containers with berth, how to write apps for it, and how to run berth itself. These pages belong to the version of berth that serves them. The key <kbd>/</kbd> begins a search.</p>\n${cards}`;
}

// `copied` takes the path of a picture or a sample from the root of the source, and returns its address. Returns {index, html}:
// what the script of the search reads, and a function from the addresses of the style sheet and of the scripts to a Map
// of address -> HTML. The address of the list of all pages is empty.
export function documentation(copied) {
  const known = new Set(files());
  const read_pages = [...known].map((file) => read(file, known, copied));
  const api = {
    address: 'api',
    title: 'The API',
    headings: [],
    html: '<h1>The API</h1>\n<div id="reference"><p>The reference is loading. It needs JavaScript; without it, there is <a href="/docs/reference/operations">a list of all operations</a>, and <a href="/.well-known/openapi.json">the OpenAPI document</a> for programs.</p></div>\n',
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
    page.sections.map(({ heading, anchor, text, is_row }) => ({
      page: name_of(page),
      heading,
      // An operation is described in the reference of the API; the list of all has no more than its command.
      address:
        page.address === 'reference/operations' && is_row
          ? `/docs/api#${heading}`
          : `/docs/${page.address}${anchor ? `#${anchor}` : ''}`,
      text: text.replace(/\s+/g, ' ').trim(),
      weight: weight_of(page.address) * (is_row ? 0.8 : 1),
    })),
  );
  const template = readFileSync(join(here, 'page.html'), 'utf8');
  const html = ({ style, script, reference }) => {
    const made = (page, article) =>
      Object.entries({
        TITLE: escape(page.title),
        STYLE: style,
        PAGE: script,
        NAVIGATION: navigation(all, page.address),
        SCRIPT: page.has_script ? `<script type="module" src="${reference}"></script>` : '',
        CONTENTS: contents(page.headings).beside,
        NEIGHBOURS: neighbours(all, page.address),
        ABOUT: page.sections
          ? about(page)
          : 'How to run containers with berth, write apps for it, and run berth itself.',
        ARTICLE: article.replace('</h1>\n', (end) => end + contents(page.headings).above),
      }).reduce((filled, [name, value]) => filled.replace(`%${name}%`, () => value), template);
    const list = made({ title: 'Documentation', address: '', headings: [] }, overview(all));
    return new Map([['', list], ...pages.map((page) => [page.address, made(page, page.html)])]);
  };
  return { html, index };
}
