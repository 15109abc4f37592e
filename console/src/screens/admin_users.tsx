// For admins: all users, and one of them with what they have, did and owe.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { type Answer, type Body, call } from '../api';
import { type FieldOf, FormDialog, Search } from '../components/form';
import { note } from '../components/notes';
import { Pages, Read, Table } from '../components/table';
import { Button, Card, Copy, Menu, Page, Time } from '../components/ui';
import { useReading } from '../components/use';
import { tier_name, tiers } from '../data';
import { number } from '../format';
import { t } from '../messages';
import { may } from '../session';
import { role_choices } from './admin_access';
import {
  ActsOn,
  type AnyUser,
  app_href,
  Ask,
  DeploymentList,
  Give,
  Gone,
  Movements,
  page_size,
  user_href,
} from './admin_parts';

type Act = 'suspend' | 'reactivate' | 'end' | 'change' | 'give';

const change_fields = (): FieldOf<Body<'post', '/api/internal/users/{id}/promote'>>[] => [
  {
    name: 'tier',
    label: t.deployment.tier,
    kind: 'choice',
    choices: (tiers.value ?? []).map((tier) => [tier.slug, tier.name]),
  },
  {
    name: 'admin_role',
    label: t.admin.role,
    kind: 'choice',
    choices: [['', t.admin.no_role], ...role_choices()],
    hint: t.admin.role_hint,
  },
];

// The dialog of an act on a user.
function Acting({ act, user, onClose, again }: { act: Act; user: AnyUser; onClose: () => void; again: () => void }) {
  const path = { id: user.id };
  const name = user.username;
  if (act === 'give')
    return (
      <Give to={{ kind: 'user', id: user.id }} name={name} balance={user.points} onClose={onClose} onDone={again} />
    );
  if (act === 'change')
    return (
      <FormDialog
        title={t.admin.change_title(name)}
        fields={change_fields()}
        values={user}
        changes
        action={t.app.save}
        onClose={onClose}
        run={async (body) => {
          await call('post', '/api/internal/users/{id}/promote', { path, body });
          again();
        }}
      />
    );
  const acts = {
    suspend: {
      title: t.admin.suspend_title(name),
      text: t.admin.suspend_text,
      action: t.admin.suspend,
      danger: true,
      run: async () => void (await call('post', '/api/internal/users/{id}/suspend', { path })),
    },
    reactivate: {
      title: t.admin.reactivate_title(name),
      text: t.admin.reactivate_user_text,
      action: t.admin.reactivate,
      danger: false,
      run: async () => void (await call('post', '/api/internal/users/{id}/reactivate', { path })),
    },
    end: {
      title: t.admin.end_sessions_title(name),
      text: t.admin.end_sessions_text,
      action: t.admin.end_sessions,
      danger: true,
      run: async () => {
        await call('delete', '/api/internal/users/{id}/sessions', { path });
        note(t.admin.sessions_ended(name));
      },
    },
  };
  const { run, ...words } = acts[act];
  return (
    <Ask
      {...words}
      onClose={onClose}
      run={async () => {
        await run();
        again();
      }}
    />
  );
}

// What the role of the person who looks at it allows.
const items = (user: AnyUser, ask: (act: Act) => void) => [
  ...(may() ? [{ name: t.admin.change_user, icon: 'edit' as const, run: () => ask('change') }] : []),
  ...(may('finance') ? [{ name: t.admin.give, icon: 'points' as const, run: () => ask('give') }] : []),
  ...(may('support') && (may() || !user.is_admin)
    ? [
        { name: t.admin.end_sessions, icon: 'leave' as const, danger: true, run: () => ask('end') },
        user.suspended
          ? { name: t.admin.reactivate, icon: 'play' as const, run: () => ask('reactivate') }
          : { name: t.admin.suspend, icon: 'stop' as const, danger: true, run: () => ask('suspend') },
      ]
    : []),
];

function Marks({ of: user }: { of: AnyUser }) {
  return (
    <>
      {user.admin_role && <span class="tag">{t.admin.roles[user.admin_role]}</span>}
      {user.suspended && <span class="badge bad">{t.admin.suspended}</span>}
      {user.is_guest && <span class="tag">{t.admin.guest}</span>}
      {!user.email_verified && !user.is_guest && <span class="badge warn">{t.account.unverified}</span>}
    </>
  );
}

export function AdminUsers() {
  const [asked, look_for] = useState('');
  const [page, turn] = useState(1);
  const [asking, set_asking] = useState<{ act: Act; user: AnyUser } | null>(null);
  const list = useReading(
    () => call('get', '/api/internal/users', { query: { page, page_size, ...(asked ? { q: asked } : {}) } }),
    [asked, page],
  );
  return (
    <>
      <Search
        label={t.admin.find}
        onSearch={(words) => {
          look_for(words);
          turn(1);
        }}
      />
      <Card title={t.admin.tabs.users} bare>
        <Read of={list}>
          {(value) =>
            value.users.length === 0 ? (
              <p class="body soft">{t.admin.no_users}</p>
            ) : (
              <>
                <Table
                  label={t.admin.tabs.users}
                  columns={[
                    t.admin.user,
                    { name: t.menu.points, end: true },
                    t.deployment.tier,
                    t.admin.joined,
                    { name: t.admin.action, unseen: true },
                  ]}>
                  {value.users.map((user) => (
                    <tr key={user.id}>
                      <td>
                        <div class="row tight">
                          <Link href={user_href(user.id)}>{user.username}</Link>
                          <Marks of={user} />
                        </div>
                        <div class="small faint break">{user.email}</div>
                      </td>
                      <td class="end number">{number(user.points)}</td>
                      <td>{tier_name(user.tier)}</td>
                      <td class="soft">
                        <Time at={user.inserted_at} />
                      </td>
                      <td class="end">
                        <Menu
                          label={t.admin.more_of(user.username)}
                          items={items(user, (act) => set_asking({ act, user }))}
                        />
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
      {asking && <Acting {...asking} onClose={() => set_asking(null)} again={list.again} />}
    </>
  );
}

type Details = Answer<'get', '/api/internal/users/{id}'>;

function Facts({ of: { user, stats, sessions, last_login_at } }: { of: Details }) {
  return (
    <Card title={t.deployment.facts}>
      <dl class="facts">
        <dt>{t.account.email}</dt>
        <dd>{user.email}</dd>
        <dt>{t.menu.points}</dt>
        <dd class="number">{number(user.points)}</dd>
        <dt>{t.points_screen.earned}</dt>
        <dd class="number">{number(stats.total_earned)}</dd>
        <dt>{t.points_screen.spent}</dt>
        <dd class="number">{number(stats.total_spent)}</dd>
        <dt>{t.points_screen.referrals}</dt>
        <dd class="number">{number(stats.direct_referrals)}</dd>
        <dt>{t.deployment.tier}</dt>
        <dd>{tier_name(user.tier)}</dd>
        <dt>{t.account.factor}</dt>
        <dd>{user.totp_enabled ? t.account.on : t.account.off}</dd>
        <dt>{t.admin.sessions}</dt>
        <dd>
          {number(sessions)}
          {last_login_at && (
            <span class="soft">
              {' '}
              · {t.admin.last_login} <Time at={last_login_at} />
            </span>
          )}
        </dd>
        <dt>{t.account.connected}</dt>
        <dd class="number">{number(stats.connected_apps)}</dd>
        <dt>{t.admin.joined}</dt>
        <dd>
          <Time at={user.inserted_at} />
        </dd>
        <dt>{t.deployment.id}</dt>
        <dd>
          <Copy text={user.id} label={t.deployment.id} />
        </dd>
      </dl>
    </Card>
  );
}

export function AdminUser({ id }: { id: string }) {
  const [act, ask] = useState<Act | null>(null);
  const [round, next] = useState(0);
  const page = useReading(() => call('get', '/api/internal/users/{id}', { path: { id } }), [id, round]);
  if (page.error?.status === 404) return <Gone title={t.extras.no_user} />;
  return (
    <Read of={page}>
      {(value) => (
        <>
          <Page
            title={value.user.username}
            crumbs={[
              [t.admin.heading, '/admin'],
              [t.admin.tabs.users, '/admin/users'],
            ]}
            badge={<Marks of={value.user} />}
            actions={
              <>
                {may('finance') && (
                  <Button icon="points" onClick={() => ask('give')}>
                    {t.admin.give}
                  </Button>
                )}
                <Menu label={t.admin.more_of(value.user.username)} items={items(value.user, ask)} />
              </>
            }>
            <div class="columns">
              <div class="stack wide">
                <Card title={t.menu.apps} bare>
                  {value.apps.length === 0 ? (
                    <p class="body soft">{t.apps.none}</p>
                  ) : (
                    <ul class="list">
                      {value.apps.map((app) => (
                        <li key={app.id}>
                          <div class="grow row tight">
                            <Link href={app_href(app.id)}>{app.app_name}</Link>
                            {app.suspended && <span class="badge bad">{t.admin.suspended}</span>}
                          </div>
                          <span class="number">{t.points(app.balance)}</span>
                        </li>
                      ))}
                    </ul>
                  )}
                </Card>
                <DeploymentList title={t.menu.deployments} query={{ owner_id: id }} apart={{ owner: true }} />
                <Movements of={value.movements} />
                <ActsOn target={id} account={`user:${id}`} round={round} />
              </div>
              <Facts of={value} />
            </div>
          </Page>
          {act && <Acting act={act} user={value.user} onClose={() => ask(null)} again={() => next(round + 1)} />}
        </>
      )}
    </Read>
  );
}
