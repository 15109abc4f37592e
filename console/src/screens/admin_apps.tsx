// For admins: the apps of all operators, and one of them with what it may do, has, did and owes.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { type Answer, type Body, call } from '../api';
import { FormDialog, Search } from '../components/form';
import { note } from '../components/notes';
import { Pages, Read, Table } from '../components/table';
import { Button, Card, Copy, Empty, Menu, Page, Time } from '../components/ui';
import { useReading } from '../components/use';
import { tier_name, tiers } from '../data';
import { cpu, memory, number } from '../format';
import { automatic_scopes, type ScopeName, t } from '../messages';
import { may } from '../session';
import {
  ActsOn,
  type AnyApp,
  app_href,
  Ask,
  DeploymentList,
  Give,
  Gone,
  Movements,
  page_size,
  UserLink,
} from './admin_parts';
import { type Request, RequestList } from './admin_requests';

type Act = 'promote' | 'revoke' | 'suspend' | 'reactivate' | 'give';

function Acting({
  act,
  app,
  balance,
  onClose,
  again,
}: {
  act: Act;
  app: AnyApp;
  balance: number;
  onClose: () => void;
  again: () => void;
}) {
  const name = app.app_name;
  if (act === 'give')
    return <Give to={{ kind: 'app', id: app.id }} name={name} balance={balance} onClose={onClose} onDone={again} />;
  if (act === 'promote')
    return (
      <FormDialog<Body<'post', '/api/internal/apps/{app_id}/promote'>>
        title={t.admin.promote_title(name)}
        action={t.admin.promote}
        onClose={onClose}
        fields={[
          {
            name: 'tier',
            label: t.deployment.tier,
            kind: 'choice',
            choices: (tiers.value ?? []).map((tier) => [tier.slug, tier.name]),
          },
        ]}
        run={async (body) => {
          await call('post', '/api/internal/apps/{app_id}/promote', { path: { app_id: app.id }, body });
          note(t.admin.promoted(name));
          again();
        }}>
        <p class="soft">{t.admin.promote_text}</p>
      </FormDialog>
    );
  if (act === 'revoke')
    return (
      <FormDialog<Body<'post', '/api/internal/apps/{id}/scopes/revoke'>>
        title={t.admin.revoke_title(name)}
        action={t.admin.revoke}
        danger
        onClose={onClose}
        fields={[
          {
            name: 'scopes',
            label: t.app.scopes,
            kind: 'many',
            values_shown: true,
            choices: (Object.keys(t.scopes) as ScopeName[])
              .filter((scope) => !automatic_scopes.includes(scope) && scope !== 'points:award')
              .map((scope) => [scope, t.scopes[scope]]),
          },
        ]}
        run={async (body) => {
          await call('post', '/api/internal/apps/{id}/scopes/revoke', { path: { id: app.id }, body });
          note(t.admin.revoked);
          again();
        }}>
        <p class="soft">{t.admin.revoke_text}</p>
      </FormDialog>
    );
  const suspends = act === 'suspend';
  return (
    <Ask
      title={suspends ? t.admin.suspend_title(name) : t.admin.reactivate_title(name)}
      text={suspends ? t.admin.suspend_app_text : t.admin.reactivate_app_text}
      action={suspends ? t.admin.suspend : t.admin.reactivate}
      danger={suspends}
      onClose={onClose}
      run={async () => {
        const path = { id: app.id };
        if (suspends) await call('post', '/api/internal/apps/{id}/suspend', { path });
        else await call('post', '/api/internal/apps/{id}/reactivate', { path });
        note(suspends ? t.admin.app_suspended(name) : t.admin.app_reactivated(name));
        again();
      }}
    />
  );
}

const items = (app: AnyApp, ask: (act: Act) => void) => [
  ...(may()
    ? [
        { name: t.admin.promote, icon: 'check' as const, run: () => ask('promote') },
        { name: t.admin.revoke, icon: 'key' as const, run: () => ask('revoke') },
      ]
    : []),
  ...(may('support')
    ? [
        app.suspended
          ? { name: t.admin.reactivate, icon: 'play' as const, run: () => ask('reactivate') }
          : { name: t.admin.suspend, icon: 'stop' as const, danger: true, run: () => ask('suspend') },
      ]
    : []),
];

const granted = (app: AnyApp) => app.approved_scopes.filter((scope) => !automatic_scopes.includes(scope));

export function AdminApps() {
  const [asked, look_for] = useState('');
  const [page, turn] = useState(1);
  const list = useReading(
    () => call('get', '/api/internal/apps', { query: { page, page_size, ...(asked ? { q: asked } : {}) } }),
    [asked, page],
  );
  const [asking, ask] = useState<{ act: Act; app: AnyApp } | null>(null);
  return (
    <>
      <p class="soft">{t.admin.apps_text}</p>
      <Search
        label={t.admin.find_app}
        onSearch={(words) => {
          look_for(words);
          turn(1);
        }}
      />
      <Card title={t.menu.apps} bare>
        <Read of={list}>
          {(value) =>
            value.apps.length === 0 ? (
              <Empty icon="apps" title={t.points_screen.none_found} text={t.admin.no_apps_text} />
            ) : (
              <>
                <Table
                  label={t.menu.apps}
                  columns={[
                    t.app.name,
                    t.admin.owner,
                    t.app.scopes,
                    t.deployment.created,
                    { name: t.admin.action, unseen: true },
                  ]}>
                  {value.apps.map((app) => (
                    <tr key={app.id}>
                      <td>
                        <div class="row tight">
                          <Link href={app_href(app.id)}>{app.app_name}</Link>
                          {app.suspended && <span class="badge bad">{t.admin.suspended}</span>}
                        </div>
                        {app.promoted_tier && (
                          <div class="small faint">
                            {t.admin.promoted_to} {tier_name(app.promoted_tier)}
                          </div>
                        )}
                      </td>
                      <td>
                        <UserLink id={app.owner_id} name={app.owner} />
                      </td>
                      <td class="small">
                        {granted(app).map((scope) => (
                          <div key={scope}>{t.scopes[scope as ScopeName] ?? scope}</div>
                        ))}
                        {granted(app).length === 0 && '–'}
                      </td>
                      <td class="soft">
                        <Time at={app.inserted_at} />
                      </td>
                      <td class="end">
                        <Menu label={t.admin.more_of(app.app_name)} items={items(app, (act) => ask({ act, app }))} />
                      </td>
                    </tr>
                  ))}
                </Table>
                <Pages of={value} turn={turn} />
              </>
            )
          }
        </Read>
      </Card>
      {asking && <Acting {...asking} balance={0} onClose={() => ask(null)} again={list.again} />}
    </>
  );
}

type Details = Answer<'get', '/api/internal/apps/{id}'>;

function Facts({ of: { app, balance, held, users, deployments, memory_mb, cpu_millicores } }: { of: Details }) {
  return (
    <Card title={t.deployment.facts}>
      <dl class="facts">
        <dt>{t.admin.owner}</dt>
        <dd>
          <UserLink id={app.owner_id} name={app.owner} />
        </dd>
        <dt>{t.menu.points}</dt>
        <dd class="number">
          {number(balance)}
          {held > 0 && <div class="small faint">{t.billing.held(held)}</div>}
        </dd>
        <dt>{t.app.users}</dt>
        <dd class="number">{number(users)}</dd>
        <dt>{t.menu.deployments}</dt>
        <dd>
          {number(deployments)}
          {deployments > 0 && (
            <span class="soft">
              {' '}
              · {memory(memory_mb)}, {t.deployment.cpus(cpu(cpu_millicores))}
            </span>
          )}
        </dd>
        <dt>{t.admin.promoted_to}</dt>
        <dd>{tier_name(app.promoted_tier)}</dd>
        <dt>{t.app.scopes}</dt>
        <dd>
          {granted(app).map((scope) => (
            <div key={scope}>{t.scopes[scope as ScopeName] ?? scope}</div>
          ))}
          {granted(app).length === 0 && '–'}
        </dd>
        <dt>{t.app_settings.website}</dt>
        <dd class="break">{app.website_url ?? '–'}</dd>
        <dt>{t.app.redirects}</dt>
        <dd class="break small">{app.redirect_uris.join(', ') || '–'}</dd>
        <dt>{t.deployment.created}</dt>
        <dd>
          <Time at={app.inserted_at} />
        </dd>
        <dt>{t.app.client_id}</dt>
        <dd>
          <Copy text={app.client_id} label={t.app.client_id} />
        </dd>
        <dt>{t.deployment.id}</dt>
        <dd>
          <Copy text={app.id} label={t.deployment.id} />
        </dd>
      </dl>
    </Card>
  );
}

export function AdminApp({ id }: { id: string }) {
  const [act, ask] = useState<Act | null>(null);
  const [round, next] = useState(0);
  const page = useReading(() => call('get', '/api/internal/apps/{id}', { path: { id } }), [id, round]);
  const again = () => next(round + 1);
  if (page.error?.status === 404) return <Gone title={t.app.gone} />;
  return (
    <Read of={page}>
      {(value) => (
        <>
          <Page
            title={value.app.app_name}
            crumbs={[
              [t.admin.heading, '/admin'],
              [t.menu.apps, '/admin/apps'],
            ]}
            badge={value.app.suspended && <span class="badge bad">{t.admin.suspended}</span>}
            below={value.app.app_description && <p class="soft break">{value.app.app_description}</p>}
            actions={
              <>
                <Button icon="points" onClick={() => ask('give')}>
                  {t.admin.give}
                </Button>
                <Menu label={t.admin.more_of(value.app.app_name)} items={items(value.app, ask)} />
              </>
            }>
            <div class="columns">
              <div class="stack wide">
                <DeploymentList title={t.menu.deployments} query={{ app_id: id }} apart={{ owner: true, app: true }} />
                <Card title={t.app.requests} bare>
                  {value.scope_requests.length === 0 ? (
                    <p class="body soft">{t.app.no_requests}</p>
                  ) : (
                    <RequestList of={value.scope_requests as Request[]} again={again} of_app />
                  )}
                </Card>
                <Movements of={value.movements} />
                <ActsOn target={id} account={`app:${id}`} round={round} />
              </div>
              <Facts of={value} />
            </div>
          </Page>
          {act && <Acting act={act} app={value.app} balance={value.balance} onClose={() => ask(null)} again={again} />}
        </>
      )}
    </Read>
  );
}
