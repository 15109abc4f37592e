// Help: the keys, and what the documentation has about the screen that is open.
import { useLocation } from 'wouter-preact';
import { t } from '../messages';
import { Icon } from './icons';
import { Button, Dialog } from './ui';

// The page of the documentation about each screen, by its address.
const documents: [RegExp, string][] = [
  [/^\/admin/, '/docs/guides/admins'],
  [/^\/campaigns/, '/docs/guides/ads'],
  [/^\/(points|extras|account)/, '/docs/concepts'],
  [/^\/alerts/, '/docs/tasks/alerts'],
  [/^\/apps/, '/docs/guides/players'],
  [/^\/(domains|deployments\/[^/]+\/domain)/, '/docs/guides/operators'],
  [/^\//, '/docs/guides/operators'],
];
export const document_of = (path: string) => documents.find(([of]) => of.test(path))![1];

export interface Topic {
  name: string;
  href: string;
}
let topics: Promise<Topic[]> | undefined;

// All pages of the documentation, as its front page lists them. Without documentation there are none.
export function pages_of_documentation(): Promise<Topic[]> {
  topics ??= fetch('/docs', { credentials: 'same-origin' })
    .then((answer) => (answer.ok ? answer.text() : ''))
    .then((text) => {
      const links = new DOMParser()
        .parseFromString(text, 'text/html')
        .querySelectorAll<HTMLAnchorElement>('a[href^="/docs/"]');
      const by_href = new Map<string, string>();
      for (const link of links) {
        const href = link.getAttribute('href')!;
        const name = link.textContent?.trim() ?? '';
        if (name && !href.startsWith('/docs/assets/') && !by_href.has(href)) by_href.set(href, name);
      }
      return [...by_href].map(([href, name]) => ({ name, href }));
    })
    .catch(() => []);
  return topics;
}

// Where `g` and a second key lead.
export const places: Record<string, [href: string, name: string]> = {
  d: ['/', t.menu.deployments],
  a: ['/apps', t.menu.apps],
  p: ['/points', t.menu.points],
  n: ['/new', t.overview.create],
  c: ['/account', t.menu.account],
};

export function HelpLink() {
  const [path] = useLocation();
  return (
    <a
      class="button plain slim help"
      href={document_of(path)}
      target="_blank"
      rel="noopener"
      title={t.help.about_screen}>
      <Icon name="help" size={16} />
      <span>{t.help.docs}</span>
    </a>
  );
}

export function Help({ shortcut, onClose }: { shortcut: string; onClose: () => void }) {
  const [path] = useLocation();
  const keys: [string[], string][] = [
    [[shortcut], t.help.find],
    [['?'], t.help.this],
    ...Object.entries(places).map(([key, [, name]]) => [['g', key], name] as [string[], string]),
    [['Esc'], t.help.close],
  ];
  return (
    <Dialog title={t.help.heading} onClose={onClose}>
      <dl class="keys">
        {keys.map(([all, what]) => (
          <div key={all.join(' ')}>
            <dt>
              {all.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <ul class="stack tight">
        <li>
          <a href={document_of(path)} target="_blank" rel="noopener">
            {t.help.about_screen}
          </a>
        </li>
        <li>
          <a href="/docs" target="_blank" rel="noopener">
            {t.help.all_docs}
          </a>
        </li>
        <li>
          <a href="/docs/api" target="_blank" rel="noopener">
            {t.help.api}
          </a>
        </li>
      </ul>
      <div class="actions">
        <Button kinds={['main-action']} onClick={onClose}>
          {t.help.close}
        </Button>
      </div>
    </Dialog>
  );
}
