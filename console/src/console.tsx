// The frame around all screens: the menu, the notes, and the messages when something is wrong with the connection.
import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { Link, Route, Router, Switch, useLocation } from 'wouter-preact';
import type { ApiError } from './api';
import { Select } from './components/fields';
import { Help, places } from './components/help';
import { Icon, type IconName } from './components/icons';
import { Notes } from './components/notes';
import { Palette } from './components/palette';
import { Bones, Button, Dialog, Empty, Failed, LinkButton, Page } from './components/ui';
import { apps, follow_all, listed, serves_domains } from './data';
import { t } from './messages';
import { language, languages } from './messages/language';
import {
  LazyAccount,
  LazyAdmin,
  LazyAlerts,
  LazyComponents,
  LazyDomains,
  LazyExtras,
  LazyMarket,
  LazyStatement,
} from './components/lazy';
import { Proof } from './components/proof';
import { AppScreen } from './screens/app';
import { AppsScreen } from './screens/apps';
import { DeploymentScreen } from './screens/deployment';
import { NewAppScreen } from './screens/new_app';
import { NewDeploymentScreen } from './screens/new_deployment';
import { OverviewScreen } from './screens/overview';
import { PointsScreen } from './screens/points';
import { admin_sections } from './screens/sections';
import { choose_language, expired, limitedUntil, log_out, me, offline, refresh, simulated, start } from './session';

// The menu leaves out what the person can't use yet: domains need a deployment and a platform that serves them, ads and
// alerts an app. The page of ads says which scope an app needs for them.
const has_domains = () => listed.value.some((one) => serves_domains.value || one.custom_domain);
const is_of_use = (href: string) =>
  href === '/domains' ? has_domains() : href === '/campaigns' || href === '/alerts' ? !!apps.value?.length : true;

const menu: { href: string; name: string; icon: IconName; of: RegExp }[] = [
  { href: '/', name: t.menu.deployments, icon: 'deployments', of: /^\/($|new|deployments)/ },
  { href: '/apps', name: t.menu.apps, icon: 'apps', of: /^\/apps/ },
  { href: '/domains', name: t.menu.domains, icon: 'globe', of: /^\/domains/ },
  { href: '/campaigns', name: t.menu.market, icon: 'send', of: /^\/campaigns/ },
  { href: '/alerts', name: t.menu.alerts, icon: 'alert', of: /^\/alerts/ },
  { href: '/points', name: t.menu.points, icon: 'points', of: /^\/points/ },
  { href: '/extras', name: t.menu.extras, icon: 'tag', of: /^\/extras/ },
  { href: '/account', name: t.menu.account, icon: 'account', of: /^\/account/ },
];

const shortcut = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : t.palette.shortcut;

function Side({ open, close, find, help }: { open: boolean; close: () => void; find: () => void; help: () => void }) {
  const [path] = useLocation();
  // Where an admin administers, the menu has that alone, so that it fits on a low screen.
  const administers = me.value!.is_admin && /^\/admin(\/|$)/.test(path);
  return (
    <aside class={`side${open ? ' open' : ''}`} id="side" aria-label={t.menu.label}>
      <Link href="/" class="brand" onClick={close}>
        <Icon name="berth" size={24} />
        berth
      </Link>
      {!administers && (
        <nav aria-label={t.menu.screens} class="menu">
          {menu
            .filter((entry) => is_of_use(entry.href))
            .map((entry) => (
              <Link
                key={entry.href}
                href={entry.href}
                onClick={close}
                aria-current={entry.of.test(path) ? 'page' : undefined}>
                <Icon name={entry.icon} />
                {entry.name}
              </Link>
            ))}
        </nav>
      )}
      {me.value!.is_admin && !administers && (
        <nav aria-label={t.admin.heading} class="menu small-menu">
          <Link href="/admin" onClick={close}>
            <Icon name="shield" />
            {t.admin.heading}
          </Link>
        </nav>
      )}
      {administers && (
        <nav aria-label={t.admin.heading} class="menu small-menu administers">
          <Link href="/" onClick={close}>
            <Icon name="back" />
            {t.menu.back}
          </Link>
          {admin_sections.map((entry) => (
            <Link
              key={entry.key}
              href={entry.href}
              onClick={close}
              aria-current={
                path === entry.href || (path.startsWith(`${entry.href}/`) && entry.href !== '/admin')
                  ? 'page'
                  : undefined
              }>
              <Icon name={entry.icon} />
              {entry.name}
            </Link>
          ))}
        </nav>
      )}
      <div class="foot">
        {simulated.value && (
          <p class="simulated" title={t.frame.simulated}>
            {t.frame.simulated_short}
          </p>
        )}
        <div class="menu tools">
          <button
            type="button"
            class="find"
            onClick={() => {
              close();
              find();
            }}>
            <Icon name="search" />
            {t.palette.open}
            <kbd>{shortcut}</kbd>
          </button>
          <Button
            kinds={['plain']}
            icon="help"
            label={t.help.open}
            onClick={() => {
              close();
              help();
            }}
          />
        </div>
        <div class="menu language">
          <Icon name="globe" />
          <Select
            aria-label={t.menu.language}
            value={language}
            onChoose={(name) => void choose_language(name)}
            choices={Object.entries(languages).map(([key, name]) => [key, name, { lang: key }])}
          />
        </div>
        <div class="who">
          <span class="avatar" aria-hidden="true">
            {me.value!.username.slice(0, 2)}
          </span>
          <div class="names">
            <div class="cut">{me.value!.username}</div>
            <div class="cut small faint">{me.value!.email}</div>
          </div>
          <Button slim kinds={['plain']} icon="leave" label={t.menu.log_out} onClick={() => void log_out()} />
        </div>
      </div>
    </aside>
  );
}

function Strips() {
  const now = useSignal(Date.now());
  useEffect(() => {
    if (limitedUntil.value <= Date.now()) return;
    const timer = setInterval(() => (now.value = Date.now()), 500);
    return () => clearInterval(timer);
  }, [limitedUntil.value]);
  const wait = Math.ceil((limitedUntil.value - now.value) / 1_000);
  return (
    <div role="status">
      {offline.value && <div class="strip">{t.errors.offline}</div>}
      {wait > 0 && <div class="strip">{t.errors.limited(wait)}</div>}
    </div>
  );
}

const is_typing = (event: KeyboardEvent) =>
  event.metaKey ||
  event.ctrlKey ||
  event.altKey ||
  !!(event.target as Element | null)?.closest?.('input, textarea, select, dialog, [contenteditable]');
const patience_with_second_key = 1_000; // ms

// The keys that work wherever nothing is being typed: ? for help, g and another one to go somewhere.
function Keys({ help }: { help: () => void }) {
  const [, go] = useLocation();
  useEffect(() => {
    let g = 0;
    const keys = (event: KeyboardEvent) => {
      if (is_typing(event)) return;
      const place = Date.now() - g < patience_with_second_key ? places[event.key] : undefined;
      g = event.key === 'g' ? Date.now() : 0;
      if (event.key === '?') help();
      else if (place) go(place[0]);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', keys);
    return () => removeEventListener('keydown', keys);
  }, []);
  return null;
}

// Shown over whatever is being typed, which stays: the person logs in again in another tab.
function Expired() {
  const [failed, fail] = useState(false);
  async function again() {
    fail(false);
    try {
      await refresh();
    } catch {
      fail(true);
    }
  }
  useEffect(() => {
    const look = () => document.visibilityState === 'visible' && void again();
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  return (
    <Dialog title={t.expired.heading} onClose={() => {}} closable={false}>
      <p>{t.expired.text}</p>
      {failed && (
        <p class="wrong" role="alert">
          {t.expired.not_yet}
        </p>
      )}
      <div class="actions">
        <Button onClick={again}>{t.expired.done}</Button>
        <a class="button main-action" href="/login?next=/console" target="_blank" rel="noopener">
          {t.expired.log_in}
        </a>
      </div>
    </Dialog>
  );
}

function Screens() {
  return (
    <Switch>
      <Route path="/" component={OverviewScreen} />
      <Route path="/new" component={NewDeploymentScreen} />
      <Route path="/deployments/:id/:tab?">
        {({ id, tab }) => <DeploymentScreen key={id} id={id!} tab={tab ?? 'overview'} />}
      </Route>
      <Route path="/points" component={PointsScreen} />
      <Route path="/points/statement">
        <LazyStatement />
      </Route>
      <Route path="/apps/:id/statement">{({ id }) => <LazyStatement key={id} app={id!} />}</Route>
      <Route path="/domains" component={LazyDomains} />
      <Route path="/alerts" component={LazyAlerts} />
      <Route path="/campaigns/:part?/:id?">{({ part, id }) => <LazyMarket part={part ?? 'campaigns'} id={id} />}</Route>
      <Route path="/extras/:part?">{({ part }) => <LazyExtras part={part ?? 'shop'} />}</Route>
      <Route path="/components/:part?" component={LazyComponents} />
      <Route path="/apps" component={AppsScreen} />
      <Route path="/apps/new" component={NewAppScreen} />
      <Route path="/apps/:id/:tab?">{({ id, tab }) => <AppScreen key={id} id={id!} tab={tab ?? 'overview'} />}</Route>
      <Route path="/account" component={LazyAccount} />
      <Route path="/admin/:part?/:id?">{({ part, id }) => <LazyAdmin part={part ?? 'requests'} id={id} />}</Route>
      <Route>
        <Page title={t.lost.heading}>
          <section class="card">
            <Empty icon="search" title={t.lost.again} text={t.lost.text}>
              <LinkButton href="/" kinds={['main-action']}>
                {t.lost.back}
              </LinkButton>
            </Empty>
          </section>
        </Page>
      </Route>
    </Switch>
  );
}

export function Console() {
  const [open, set_open] = useState(false);
  const [finding, find] = useState(false);
  const [helping, ask_help] = useState(false);
  const [failed, fail] = useState<ApiError | null>(null);
  async function begin() {
    fail(null);
    try {
      await start();
      if (!me.value) return; // on the way to the login page
      follow_all();
    } catch (error) {
      fail(error as ApiError);
    }
  }
  useEffect(() => {
    void begin();
    const keys = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        find(true);
      }
      if (event.key === 'Escape') set_open(false);
    };
    addEventListener('keydown', keys);
    return () => removeEventListener('keydown', keys);
  }, []);

  if (!me.value)
    return (
      <main class="main" id="main">
        <div class="page narrow">
          <h1 class="unseen">berth</h1>
          {failed ? <Failed error={failed} again={begin} /> : <Bones />}
        </div>
      </main>
    );
  return (
    <Router base="/console">
      <a
        class="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          document.getElementById('main')?.focus();
        }}>
        {t.frame.skip}
      </a>
      <div class="frame">
        <header class="topbar">
          <Link href="/" class="brand">
            <Icon name="berth" size={24} />
            berth
          </Link>
          <Button
            kinds={['plain']}
            icon={open ? 'close' : 'menu'}
            label={t.menu.label}
            aria-expanded={open}
            aria-controls="side"
            onClick={() => set_open(!open)}
          />
        </header>
        <Side open={open} close={() => set_open(false)} find={() => find(true)} help={() => ask_help(true)} />
        <div>
          <Strips />
          <main class="main" id="main" tabIndex={-1}>
            <Screens />
          </main>
        </div>
      </div>
      {finding && <Palette onClose={() => find(false)} />}
      {helping && <Help shortcut={shortcut} onClose={() => ask_help(false)} />}
      <Keys help={() => ask_help(true)} />
      <Proof />
      {expired.value && <Expired />}
      <Notes />
    </Router>
  );
}
