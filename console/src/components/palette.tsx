// ⌘K: finds deployments, apps and screens by name.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { apps, listed } from '../data';
import { t } from '../messages';
import { admin_sections } from '../screens/sections';
import { me } from '../session';
import { Words } from './fields';
import { Icon, type IconName } from './icons';

const most_found = 12;

export function Palette({ onClose }: { onClose: () => void }) {
  const [words, search] = useState('');
  const [at, move] = useState(0);
  const [, go] = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const all: { name: string; what: string; icon: IconName; href: string }[] = [
    { name: t.overview.create, what: t.palette.action, icon: 'plus', href: '/new' },
    { name: t.apps.create, what: t.palette.action, icon: 'plus', href: '/apps/new' },
    ...listed.value.map((d) => ({
      name: d.name ?? d.subdomain,
      what: t.palette.deployment,
      icon: 'deployments' as const,
      href: `/deployments/${d.id}`,
    })),
    ...(apps.value ?? []).map((app) => ({
      name: app.app_name,
      what: t.palette.app,
      icon: 'apps' as const,
      href: `/apps/${app.id}`,
    })),
    { name: t.menu.deployments, what: t.palette.screen, icon: 'deployments', href: '/' },
    { name: t.menu.points, what: t.palette.screen, icon: 'points', href: '/points' },
    { name: t.menu.domains, what: t.palette.screen, icon: 'globe', href: '/domains' },
    { name: t.menu.market, what: t.palette.screen, icon: 'send', href: '/campaigns' },
    { name: t.menu.extras, what: t.palette.screen, icon: 'tag', href: '/extras' },
    { name: t.menu.apps, what: t.palette.screen, icon: 'apps', href: '/apps' },
    { name: t.menu.account, what: t.palette.screen, icon: 'account', href: '/account' },
    ...(me.value!.is_admin
      ? admin_sections.map((entry) => ({ name: entry.name, what: t.admin.heading, icon: entry.icon, href: entry.href }))
      : []),
  ];
  const found = all
    .filter((entry) => entry.name.toLowerCase().includes(words.trim().toLowerCase()))
    .slice(0, most_found);
  const open = (href: string) => {
    onClose();
    go(href);
  };
  function keys(event: KeyboardEvent) {
    if (event.key === 'ArrowDown') move((at + 1) % Math.max(1, found.length));
    else if (event.key === 'ArrowUp') move((at - 1 + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') {
      if (found[at]) open(found[at].href);
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
        label={t.palette.label}
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
            key={entry.href + entry.name}
            aria-selected={index === at}
            onClick={() => open(entry.href)}>
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
