// For admins: operators' apps, what they may do, and deployments that an admin stops.
import { useState } from 'preact/hooks';
import { type Answer, type Body, call } from '../api';
import { Confirm, type FieldOf, Form, FormDialog, Search } from '../components/form';
import { note } from '../components/notes';
import { Pages, Read, Table } from '../components/table';
import { Button, Card, Copy, Empty, Menu, Time } from '../components/ui';
import { useReading } from '../components/use';
import { tiers } from '../data';
import { automatic_scopes, type ScopeName, t } from '../messages';

type App = Answer<'get', '/api/internal/apps'>['apps'][number];
type Asking = { what: 'promote' | 'revoke' | 'suspend'; app: App };

const page_size = 50;

function Ask({ asking, onClose, again }: { asking: Asking; onClose: () => void; again: () => void }) {
  const { app } = asking;
  if (asking.what === 'promote')
    return (
      <FormDialog<Body<'post', '/api/internal/apps/{app_id}/promote'>>
        title={t.admin.promote_title(app.app_name)}
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
          note(t.admin.promoted(app.app_name));
          again();
        }}>
        <p class="soft">{t.admin.promote_text}</p>
      </FormDialog>
    );
  if (asking.what === 'revoke')
    return (
      <FormDialog<Body<'post', '/api/internal/apps/{id}/scopes/revoke'>>
        title={t.admin.revoke_title(app.app_name)}
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
  return (
    <Confirm
      title={t.admin.suspend_title(app.app_name)}
      action={t.admin.suspend}
      danger
      onClose={onClose}
      run={async () => {
        await call('post', '/api/internal/apps/{id}/suspend', { path: { id: app.id } });
        note(t.admin.app_suspended(app.app_name));
        again();
      }}>
      <p>{t.admin.suspend_app_text}</p>
    </Confirm>
  );
}

export function AdminApps() {
  const [asked, look_for] = useState('');
  const [page, turn] = useState(1);
  const list = useReading(
    () => call('get', '/api/internal/apps', { query: { page, page_size, ...(asked ? { q: asked } : {}) } }),
    [asked, page],
  );
  const [asking, ask] = useState<Asking | null>(null);
  async function reactivate(app: App) {
    await call('post', '/api/internal/apps/{id}/reactivate', { path: { id: app.id } }).then(
      () => note(t.admin.app_reactivated(app.app_name)),
      (failure) => note(failure.message),
    );
    list.again();
  }
  const items = (app: App) => [
    { name: t.admin.promote, icon: 'check' as const, run: () => ask({ what: 'promote', app }) },
    { name: t.admin.revoke, icon: 'key' as const, run: () => ask({ what: 'revoke', app }) },
    app.suspended
      ? { name: t.admin.reactivate, icon: 'play' as const, run: () => void reactivate(app) }
      : { name: t.admin.suspend, icon: 'stop' as const, danger: true, run: () => ask({ what: 'suspend', app }) },
  ];
  const granted = (app: App) => app.approved_scopes.filter((scope) => !automatic_scopes.includes(scope));
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
                    t.deployment.id,
                    { name: t.admin.action, unseen: true },
                  ]}>
                  {value.apps.map((app) => (
                    <tr key={app.id}>
                      <td>
                        <div class="row tight">
                          <strong>{app.app_name}</strong>
                          {app.suspended && <span class="badge bad">{t.admin.suspended}</span>}
                        </div>
                        {app.promoted_tier && (
                          <div class="small faint">
                            {t.admin.promoted_to} {app.promoted_tier}
                          </div>
                        )}
                      </td>
                      <td>{app.owner ?? '–'}</td>
                      <td class="small">
                        {granted(app).map((scope) => (
                          <div key={scope}>{t.scopes[scope as ScopeName] ?? scope}</div>
                        ))}
                        {granted(app).length === 0 && '–'}
                      </td>
                      <td class="soft">
                        <Time at={app.inserted_at} />
                      </td>
                      <td>
                        <Copy text={app.id} label={t.deployment.id} />
                      </td>
                      <td class="end">
                        <Menu label={t.admin.more_of(app.app_name)} items={items(app)} />
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
      {asking && <Ask asking={asking} onClose={() => ask(null)} again={list.again} />}
    </>
  );
}

type Entry = Answer<'get', '/api/internal/audit'>['entries'][number];
const looked_at = 100; // the newest entries of the audit log of each kind
const about_deployments = ['deployment.suspend', 'deployment.reactivate'];

async function decisions(): Promise<Entry[]> {
  const pages = await Promise.all(
    about_deployments.map((action) => call('get', '/api/internal/audit', { query: { action, page_size: looked_at } })),
  );
  return pages.flatMap((page) => page.entries).sort((a, b) => (a.id < b.id ? 1 : -1));
}
const id_field: FieldOf<{ id: string }> = {
  name: 'id',
  label: t.admin.deployment_id,
  mono: true,
  hint: t.admin.deployment_hint,
  errors: ['deployment_not_found', 'deployment_destroyed', 'invalid_state'],
};

export function AdminDeployments() {
  const orphans = useReading(() => call('get', '/api/internal/deploy/orphans'), []);
  const recent = useReading(decisions, []);
  const [suspending, suspend] = useState(false);
  async function reactivate(deployment_id: string) {
    const { deployment } = await call('post', '/api/internal/deploy/apps/{deployment_id}/reactivate', {
      path: { deployment_id },
    });
    note(t.admin.deployment_reactivated(deployment.name ?? deployment.subdomain));
    recent.again();
  }
  // The newest decision about a deployment is the one that holds.
  const is_newest = (entry: Entry, all: Entry[]) => all.find((one) => one.target === entry.target) === entry;
  return (
    <>
      <Card
        title={t.admin.decisions}
        bare
        actions={
          <Button slim kinds={['danger']} icon="stop" onClick={() => suspend(true)}>
            {t.admin.suspend_deployment}
          </Button>
        }>
        <Read of={recent}>
          {(entries) =>
            entries.length === 0 ? (
              <Empty icon="deployments" title={t.admin.no_decisions} text={t.admin.no_decisions_text} />
            ) : (
              <Table
                label={t.admin.decisions}
                columns={[
                  t.points_screen.when,
                  t.admin.action,
                  t.palette.deployment,
                  { name: t.admin.reactivate, unseen: true },
                ]}>
                {entries.map((entry) => (
                  <tr key={entry.id}>
                    <td class="soft">
                      <Time at={entry.inserted_at} />
                    </td>
                    <td>
                      <span class={`badge ${entry.action === 'deployment.suspend' ? 'bad' : 'good'}`}>
                        {t.audit_action(entry.action)}
                      </span>
                    </td>
                    <td>
                      <Copy text={entry.target} label={t.deployment.id} />
                    </td>
                    <td class="end">
                      {entry.action === 'deployment.suspend' && is_newest(entry, entries) && (
                        <Button
                          slim
                          icon="play"
                          onClick={() => void reactivate(entry.target).catch((failure) => note(failure.message))}>
                          {t.admin.reactivate}
                        </Button>
                      )}
                    </td>
                  </tr>
                ))}
              </Table>
            )
          }
        </Read>
      </Card>
      <div class="columns even">
        <Card title={t.admin.reactivate_deployment}>
          <Form<{ id: string }>
            fields={[id_field]}
            action={t.admin.reactivate}
            run={({ id }) => reactivate(id ?? '')}
          />
        </Card>
        <Card title={t.admin.orphans} bare>
          <Read of={orphans}>
            {({ deployments }) =>
              deployments.length === 0 ? (
                <p class="body soft">{t.admin.no_orphans}</p>
              ) : (
                <>
                  <p class="body soft">{t.admin.orphans_text}</p>
                  <ul class="list">
                    {deployments.map((id) => (
                      <li key={id}>
                        <Copy text={id} label={t.deployment.id} />
                      </li>
                    ))}
                  </ul>
                </>
              )
            }
          </Read>
        </Card>
      </div>
      {suspending && (
        <FormDialog<{ id: string }>
          title={t.admin.suspend_deployment}
          action={t.admin.suspend}
          danger
          fields={[id_field]}
          onClose={() => suspend(false)}
          run={async ({ id }) => {
            await call('post', '/api/internal/deploy/apps/{deployment_id}/suspend', {
              path: { deployment_id: id ?? '' },
            });
            recent.again();
          }}>
          <p class="soft">{t.admin.suspend_deployment_text}</p>
        </FormDialog>
      )}
    </>
  );
}
