// ⌘K: finds deployments, apps, screens, actions and pages of the documentation; for admins also everybody's users, apps
// and deployments.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { call } from '../api';
import { apps, listed } from '../data';
import { t } from '../messages';
import { languages, language } from '../messages/language';
import { admin_sections } from '../screens/sections';
import { choose_language, log_out, me } from '../session';
import { Words } from './fields';
import { Icon, type IconName } from './icons';
import { pages_of_documentation, type Topic } from './help';

const most_found = 14;
const typing_pause = 200; // ms

interface Found {
  name: string;
  what: string;
  icon: IconName;
  href?: string;
  run?: () => void;
  about?: string; // is searched, too
}

const tabs = ['logs', 'history', 'variables', 'domain', 'settings'] as const;

const actions = (): Found[] => [
  { name: t.overview.create, what: t.palette.action, icon: 'plus', href: '/new' },
  { name: t.apps.create, what: t.palette.action, icon: 'plus', href: '/apps/new' },
  { name: t.points_screen.send, what: t.palette.action, icon: 'send', href: '/points?send' },
  ...Object.entries(languages)
    .filter(([key]) => key !== language)
    .map(([key, name]) => ({
      name: `${t.menu.language}: ${name}`,
      what: t.palette.action,
      icon: 'globe' as const,
      run: () => void choose_language(key),
    })),
  { name: t.menu.log_out, what: t.palette.action, icon: 'leave', run: () => void log_out() },
];

const screens = (): Found[] => [
  { name: t.menu.deployments, what: t.palette.screen, icon: 'deployments', href: '/' },
  { name: t.menu.points, what: t.palette.screen, icon: 'points', href: '/points' },
  { name: t.menu.domains, what: t.palette.screen, icon: 'globe', href: '/domains' },
  { name: t.menu.market, what: t.palette.screen, icon: 'send', href: '/campaigns' },
  { name: t.menu.alerts, what: t.palette.screen, icon: 'alert', href: '/alerts' },
  { name: t.menu.extras, what: t.palette.screen, icon: 'tag', href: '/extras' },
  { name: t.menu.apps, what: t.palette.screen, icon: 'apps', href: '/apps' },
  { name: t.menu.account, what: t.palette.screen, icon: 'account', href: '/account' },
  ...(me.value!.is_admin
    ? admin_sections.map((entry) => ({ name: entry.name, what: t.admin.heading, icon: entry.icon, href: entry.href }))
    : []),
];

// The parts of a deployment, which are found by two words: "shop logs".
const parts_of = (id: string, name: string): Found[] =>
  tabs.map((tab) => ({
    name: `${name} › ${t.deployment.tabs[tab]}`,
    what: t.palette.deployment,
    icon: 'deployments',
    href: `/deployments/${id}/${tab}`,
  }));

// What admins find among everybody's.
function useEverybody(words: string): Found[] {
  const [found, set] = useState<Found[]>([]);
  useEffect(() => {
    set([]);
    if (!me.value!.is_admin || !me.value!.second_factor || words.length < 2) return;
    let gone = false;
    const timer = setTimeout(async () => {
      const answer = await call('get', '/api/internal/search', { query: { q: words } }).catch(() => null);
      if (gone || !answer) return;
      set([
        ...answer.users.map((one) => ({
          name: one.username,
          what: t.admin.user,
          icon: 'account' as const,
          href: `/admin/users/${one.id}`,
          about: one.email,
        })),
        ...answer.apps.map((one) => ({
          name: one.app_name,
          what: t.palette.app_of(one.owner ?? '–'),
          icon: 'apps' as const,
          href: `/admin/apps/${one.id}`,
        })),
        ...answer.deployments.map((one) => ({
          name: one.name ?? one.subdomain,
          what: t.palette.deployment_of(one.owner ?? '–'),
          icon: 'deployments' as const,
          href: `/admin/deployments/${one.id}`,
        })),
      ]);
    }, typing_pause);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [words]);
  return found;
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [words, search] = useState('');
  const [at, move] = useState(0);
  const [topics, set_topics] = useState<Topic[]>([]);
  const [, go] = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key is pressed, so that whoever types on at once types into it: an effect would wait for a frame.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => void pages_of_documentation().then(set_topics), []);
  const asked = words.trim();
  const everybody = useEverybody(asked);
  const known = useMemo<Found[]>(
    () => [
      ...listed.value.map((one) => ({
        name: one.name ?? one.subdomain,
        what: t.palette.deployment,
        icon: 'deployments' as const,
        href: `/deployments/${one.id}`,
        about: one.id,
      })),
      ...(apps.value ?? []).map((app) => ({
        name: app.app_name,
        what: t.palette.app,
        icon: 'apps' as const,
        href: `/apps/${app.id}`,
        about: `${app.client_id} ${app.id}`,
      })),
      ...actions(),
      ...screens(),
    ],
    [listed.value, apps.value],
  );
  const parts = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ name, about = '' }: Found) => {
    const text = `${name} ${about}`.toLowerCase();
    return parts.every((part) => text.includes(part));
  };
  const more = parts.length > 1 ? listed.value.flatMap((one) => parts_of(one.id, one.name ?? one.subdomain)) : [];
  const documents = (asked ? topics : []).map((one) => ({ ...one, what: t.palette.document, icon: 'book' as const }));
  const found = [
    ...known.filter(fits),
    ...everybody.filter((one) => !known.some((own) => own.href === one.href)),
    ...more.filter(fits),
    ...documents.filter(fits),
  ].slice(0, most_found);
  const open = ({ href, run }: Found) => {
    onClose();
    if (run) run();
    else if (href!.startsWith('/docs')) location.assign(href!);
    else go(href!);
  };
  function keys(event: KeyboardEvent) {
    if (event.key === 'ArrowDown') move((at + 1) % Math.max(1, found.length));
    else if (event.key === 'ArrowUp') move((at - 1 + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') {
      if (found[at]) open(found[at]);
    } else return;
    event.preventDefault();
  }
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={t.palette.open}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
      onClick={(e) => {
        if (e.target === dialog.current) onClose();
      }}>
      <Words
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found[at] && `found-${at}`}
        label={me.value!.is_admin ? t.palette.label_of_admin : t.palette.label}
        autofocus
        value={words}
        onWords={(now) => {
          search(now);
          move(0);
        }}
        onKeyDown={keys}
      />
      <div class="found" id="found" role="listbox" aria-label={t.palette.open}>
        {found.map((entry, index) => (
          <div
            role="option"
            id={`found-${index}`}
            key={`${entry.href} ${entry.name}`}
            aria-selected={index === at}
            onClick={() => open(entry)}>
            <Icon name={entry.icon} />
            <span class="cut">{entry.name}</span>
            <span class="small faint">{entry.what}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && (
        <p class="empty small" role="status">
          {t.palette.nothing}
        </p>
      )}
    </dialog>
  );
}
