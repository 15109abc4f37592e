// One app: what it may do, its secret, its points, its webhooks, and what it is registered with.
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { type Answer, type Body, call } from '../api';
import { Confirm, FormDialog } from '../components/form';
import {
  LazyAppCi,
  LazyAppAudit,
  LazyAppMembers,
  LazyAppPoints,
  LazyAppSettings,
  LazyAppVariables,
  LazyWebhooks,
} from '../components/lazy';
import { note } from '../components/notes';
import { StatusBadge } from '../components/status';
import { Banner, Bones, Button, Card, Copy, Empty, Failed, LinkButton, Menu, Page, Tabs, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type App, apps, complete, listed, load, may_deploy, news, tier_name } from '../data';
import { number } from '../format';
import { automatic_scopes, type ScopeName, t } from '../messages';
import { may, type Role } from '../roles';
import { OnceShown, Secret } from './new_app';
import { short_image } from './rollouts';

const marks = { pending: 'warn', approved: 'good', rejected: 'bad', withdrawn: '' } as const;
// deploy:manage includes these, so nobody asks for them.
const parts_of_manage: string[] = ['deploy:read', 'deploy:write', 'logs:read'];
const askable = (Object.keys(t.scopes) as ScopeName[]).filter(
  (scope) => !automatic_scopes.includes(scope) && !parts_of_manage.includes(scope) && scope !== 'points:award',
);

function Scopes({ app }: { app: App }) {
  const [asking, ask] = useState(false);
  const requests = useReading(
    () => call('get', '/api/oauth/my-apps/{app_id}/scope-requests', { path: { app_id: app.id } }),
    [app.id, news.value[app.id]],
  );
  const approved = app.approved_scopes ?? [];
  const missing = askable.filter((scope) => !approved.includes(scope));
  async function withdraw(id: string) {
    await call('delete', '/api/oauth/my-apps/{app_id}/scope-requests/{id}', { path: { app_id: app.id, id } }).catch(
      (failure) => note(failure.message),
    );
    requests.again();
  }
  return (
    <>
      <Card
        title={t.app.scopes}
        bare
        actions={
          missing.length > 0 &&
          may(app, 'admin') && (
            <Button slim onClick={() => ask(true)}>
              {t.app.ask}
            </Button>
          )
        }>
        <ul class="list">
          {[...new Set([...approved, ...app.allowed_scopes])].map((scope) => (
            <li key={scope}>
              <div class="grow">
                <div>{t.scopes[scope as ScopeName] ?? scope}</div>
                <code class="small faint">{scope}</code>
              </div>
              <span class={`badge ${approved.includes(scope) ? 'good' : 'warn'}`}>
                {approved.includes(scope) ? t.app.granted : t.app.not_granted}
              </span>
            </li>
          ))}
        </ul>
      </Card>
      <Card title={t.app.requests} bare>
        {requests.error ? (
          <div class="body">
            <Failed error={requests.error} again={requests.again} />
          </div>
        ) : !requests.value ? (
          <div class="body">
            <Bones />
          </div>
        ) : requests.value.scope_requests.length === 0 ? (
          <div class="body soft">{t.app.no_requests}</div>
        ) : (
          <ul class="list">
            {requests.value.scope_requests.map((request) => (
              <li key={request.id}>
                <span class={`badge ${marks[request.status]}`}>{t.app.states[request.status]}</span>
                <div class="grow">
                  <div class="break">
                    {[...request.requested_scopes, ...(request.tier ? [t.app.tier(tier_name(request.tier))] : [])].join(
                      ', ',
                    )}
                  </div>
                  {request.reason && <div class="small soft">{request.reason}</div>}
                </div>
                <span class="small faint">
                  <Time at={request.decided_at ?? request.inserted_at} />
                </span>
                {request.status === 'pending' && may(app, 'admin') && (
                  <Button slim onClick={() => withdraw(request.id)}>
                    {t.app.withdraw}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Card>
      {asking && (
        <FormDialog<Body<'post', '/api/oauth/my-apps/{app_id}/scope-request'>>
          title={t.app.ask}
          action={t.app.ask}
          onClose={() => ask(false)}
          fields={[
            {
              name: 'requested_scopes',
              label: t.app.scopes,
              kind: 'many',
              required: true,
              values_shown: true,
              choices: missing.map((scope) => [scope, t.scopes[scope]]),
            },
          ]}
          run={async (body) => {
            await call('post', '/api/oauth/my-apps/{app_id}/scope-request', { path: { app_id: app.id }, body });
            requests.again();
            void load();
          }}
        />
      )}
    </>
  );
}

// The app's deployments, the newest first.
function Deployments({ app }: { app: App }) {
  const own = listed.value.filter((deployment) => deployment.app_id === app.id);
  if (!may_deploy(app) && own.length === 0) return null;
  return (
    <Card
      title={t.menu.deployments}
      bare
      actions={
        may_deploy(app) &&
        may(app, 'developer') && (
          <LinkButton slim href="/new" icon="plus">
            {t.overview.create}
          </LinkButton>
        )
      }>
      {own.length === 0 ? (
        <p class="body soft">{complete.value ? t.app.no_deployments : t.frame.loading}</p>
      ) : (
        <ul class="list">
          {own.map((deployment) => (
            <li key={deployment.id}>
              <div class="grow">
                <Link href={`/deployments/${deployment.id}`}>{deployment.name}</Link>
                <div class="small faint mono break">{short_image(deployment.container_image)}</div>
              </div>
              <StatusBadge deployment={deployment} />
              <span class="small faint">
                <Time at={deployment.deployed_at ?? deployment.inserted_at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

const tab_keys = ['overview', 'points', 'variables', 'members', 'ci', 'webhooks', 'audit', 'settings'] as const;
// The roles for tabs that are of no use without them.
const tab_roles: Partial<Record<(typeof tab_keys)[number], Role>> = {
  variables: 'developer',
  ci: 'developer',
  webhooks: 'developer',
  audit: 'admin',
  settings: 'admin',
};

function Loaded({ app, tab }: { app: App; tab: string }) {
  const [, go] = useLocation();
  const [asking, ask] = useState<'rotate' | 'delete' | null>(null);
  const [fresh, show] = useState<Answer<'post', '/api/oauth/my-apps/{app_id}/rotate-secret'>['app'] | null>(null);
  const is_public = app.token_endpoint_auth_method === 'none';
  const count = listed.value.filter((deployment) => deployment.app_id === app.id).length;
  return (
    <Page
      title={app.app_name}
      {...(tab === 'overview' ? {} : { part: t.app.tabs[tab as 'points'] ?? '' })}
      crumbs={[[t.menu.apps, '/apps']]}
      badge={
        <span class={`badge ${may_deploy(app) ? 'good' : 'warn'}`}>
          {may_deploy(app) ? t.apps.approved : t.apps.waiting}
        </span>
      }
      below={app.app_description && <p class="soft break">{app.app_description}</p>}
      actions={
        <>
          {may_deploy(app) && may(app, 'developer') && (
            <LinkButton href="/new" kinds={['main-action']} icon="plus">
              {t.overview.create}
            </LinkButton>
          )}
          {may(app, 'owner') && (
            <Menu
              label={t.deployment.more}
              items={[
                ...(is_public ? [] : [{ name: t.app.rotate, icon: 'key' as const, run: () => ask('rotate') }]),
                { name: t.app.delete, icon: 'trash', danger: true, run: () => ask('delete') },
              ]}
            />
          )}
        </>
      }>
      {!may_deploy(app) && (
        <Banner kind="info" title={t.app.waiting}>
          <p>{t.app.waiting_text}</p>
        </Banner>
      )}
      <Tabs
        label={t.app.tabs.label}
        current={tab}
        tabs={tab_keys
          .filter((key) => (key !== 'variables' && key !== 'ci') || may_deploy(app))
          .filter((key) => may(app, tab_roles[key] ?? 'viewer'))
          .map((key) => ({
            key,
            name: t.app.tabs[key],
            href: key === 'overview' ? `/apps/${app.id}` : `/apps/${app.id}/${key}`,
          }))}
      />
      {tab === 'overview' && (
        <div class="columns">
          <div class="stack wide">
            <Deployments app={app} />
            <Scopes app={app} />
          </div>
          <Card title={t.app.identity}>
            <dl class="facts">
              <dt>{t.roles.yours}</dt>
              <dd>
                <strong>{t.roles.names[app.role]}</strong>
                <div class="small soft">{t.roles.what[app.role]}</div>
              </dd>
              <dt>{t.app.client_id}</dt>
              <dd>
                <Copy text={app.client_id} label={t.app.client_id} />
              </dd>
              <dt>{t.app.secret}</dt>
              <dd>
                {is_public ? (
                  t.app.public
                ) : !may(app, 'owner') ? (
                  <span class="soft">{t.roles.needs(t.roles.names.owner, t.roles.names[app.role])}</span>
                ) : (
                  <Button slim icon="key" onClick={() => ask('rotate')}>
                    {t.app.rotate}
                  </Button>
                )}
              </dd>
              <dt>{t.menu.deployments}</dt>
              <dd>{complete.value ? number(count) : '…'}</dd>
              <dt>{t.app.users}</dt>
              <dd>{number(app.total_users)}</dd>
              <dt>{t.deployment.created}</dt>
              <dd>
                <Time at={app.inserted_at} />
              </dd>
            </dl>
          </Card>
        </div>
      )}
      {tab === 'points' && <LazyAppPoints app={app} />}
      {tab === 'variables' && <LazyAppVariables app={app} />}
      {tab === 'members' && <LazyAppMembers app={app} />}
      {tab === 'ci' && <LazyAppCi app={app} />}
      {tab === 'webhooks' && <LazyWebhooks app={app} />}
      {tab === 'audit' && <LazyAppAudit app={app} />}
      {tab === 'settings' && <LazyAppSettings app={app} onDelete={() => ask('delete')} />}
      {asking === 'rotate' && (
        <Confirm
          title={t.app.rotate_title}
          action={t.app.rotate}
          danger
          onClose={() => ask(null)}
          run={async () => {
            show((await call('post', '/api/oauth/my-apps/{app_id}/rotate-secret', { path: { app_id: app.id } })).app);
          }}>
          <p>{t.app.rotate_text}</p>
        </Confirm>
      )}
      {fresh && (
        <OnceShown title={t.app.new_secret} onSaved={() => show(null)}>
          <Secret app={fresh} />
        </OnceShown>
      )}
      {asking === 'delete' && (
        <Confirm
          title={t.app.delete_title(app.app_name)}
          action={t.app.delete}
          danger
          word={app.app_name}
          onClose={() => ask(null)}
          run={async () => {
            await call('delete', '/api/operator/apps/{id}', { path: { id: app.id } });
            go('/apps');
            await load();
          }}>
          <p>{t.app.delete_text}</p>
        </Confirm>
      )}
    </Page>
  );
}

export function AppScreen({ id, tab }: { id: string; tab: string }) {
  if (!apps.value)
    return (
      <div class="page">
        <Card>
          <Bones />
        </Card>
      </div>
    );
  const app = apps.value.find((one) => one.id === id);
  if (app) return <Loaded app={app} tab={tab} />;
  return (
    <Page title={t.app.gone} crumbs={[[t.menu.apps, '/apps']]}>
      <section class="card">
        <Empty icon="apps" title={t.lost.again} text={t.app.gone_text}>
          <LinkButton href="/apps" kinds={['main-action']}>
            {t.menu.apps}
          </LinkButton>
        </Empty>
      </section>
    </Page>
  );
}
