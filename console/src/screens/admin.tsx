// For admins of the platform: what they decide, change and see. Each part has its own address.
import { useState } from 'preact/hooks';
import { type Answer, type Body, call } from '../api';
import { Days } from '../components/days';
import { Confirm, type FieldOf, Form, FormDialog, Search } from '../components/form';
import { note } from '../components/notes';
import { Pages, Read, Table } from '../components/table';
import { Banner, Button, Card, Empty, Failed, Menu, Page, Time } from '../components/ui';
import { useReading, useSubmit } from '../components/use';
import { tiers } from '../data';
import { number } from '../format';
import { type ScopeName, t } from '../messages';
import { me } from '../session';
import { AdminApps, AdminDeployments } from './admin_apps';
import { Audit } from './admin_audit';
import { Fleet } from './admin_fleet';
import { Learning, Market, Shop, Tiers } from './admin_lists';
import { admin_sections } from './sections';

const page_size = 50;

type Request = Answer<'get', '/api/internal/scope-requests'>['scope_requests'][number];
const request_marks: Record<Request['status'], string> = {
  pending: 'warn',
  approved: 'good',
  rejected: 'bad',
  withdrawn: '',
};

function Requests() {
  const [status, choose] = useState<Request['status']>('pending');
  const [page, turn] = useState(1);
  const list = useReading(
    () => call('get', '/api/internal/scope-requests', { query: { status, page, page_size } }),
    [status, page],
  );
  const [rejecting, reject] = useState<Request | null>(null);
  async function approve(id: string) {
    await call('post', '/api/internal/scope-requests/{id}/approve', { path: { id } }).then(
      () => note(t.admin.approved),
      (failure) => note(failure.message),
    );
    list.again();
  }
  return (
    <Card
      title={t.admin.tabs.requests}
      bare
      actions={
        <div class="row tight" role="group" aria-label={t.webhooks.state}>
          {(['pending', 'approved', 'rejected'] as const).map((one) => (
            <button
              key={one}
              type="button"
              class="button slim"
              aria-pressed={status === one}
              onClick={() => {
                choose(one);
                turn(1);
              }}>
              {t.app.states[one]}
            </button>
          ))}
        </div>
      }>
      <Read of={list}>
        {(value) =>
          value.scope_requests.length === 0 ? (
            <Empty
              icon="check"
              title={status === 'pending' ? t.admin.no_requests : t.admin.none_of_these}
              text={t.admin.no_requests_text}
            />
          ) : (
            <>
              <ul class="list">
                {value.scope_requests.map((request) => (
                  <li key={request.id}>
                    <div class="grow">
                      <div>
                        <strong>{request.app_name ?? t.admin.deleted_app}</strong>{' '}
                        <span class="soft">{t.admin.asks(request.owner ?? '–')}</span>
                      </div>
                      <div class="small soft">
                        {[
                          ...request.requested_scopes.map((scope) => t.scopes[scope as ScopeName] ?? scope),
                          ...(request.tier ? [t.app.tier(request.tier)] : []),
                        ].join(' · ')}
                      </div>
                      {request.reason && <div class="small faint break">{request.reason}</div>}
                    </div>
                    <span class="small faint">
                      <Time at={request.decided_at ?? request.inserted_at} />
                    </span>
                    {request.status === 'pending' ? (
                      <span class="row tight">
                        <Button slim kinds={['main-action']} onClick={() => approve(request.id)}>
                          {t.admin.approve}
                        </Button>
                        <Button slim onClick={() => reject(request)}>
                          {t.admin.reject}
                        </Button>
                      </span>
                    ) : (
                      <span class={`badge ${request_marks[request.status]}`}>{t.app.states[request.status]}</span>
                    )}
                  </li>
                ))}
              </ul>
              <Pages of={value} turn={turn} />
            </>
          )
        }
      </Read>
      {rejecting && (
        <FormDialog<Body<'post', '/api/internal/scope-requests/{id}/reject'>>
          title={t.admin.reject_title(rejecting.app_name ?? '')}
          action={t.admin.reject}
          danger
          onClose={() => reject(null)}
          fields={[{ name: 'reason', label: t.admin.reason, kind: 'long' }]}
          run={async (body) => {
            await call('post', '/api/internal/scope-requests/{id}/reject', { path: { id: rejecting.id }, body });
            list.again();
          }}
        />
      )}
    </Card>
  );
}

type User = Answer<'get', '/api/internal/users'>['users'][number];

function Users() {
  const [asked, ask] = useState('');
  const [page, turn] = useState(1);
  const [asking, set_asking] = useState<{ what: 'suspend' | 'change' | 'end'; user: User } | null>(null);
  const list = useReading(
    () => call('get', '/api/internal/users', { query: { page, page_size, ...(asked ? { q: asked } : {}) } }),
    [asked, page],
  );
  async function reactivate(id: string) {
    await call('post', '/api/internal/users/{id}/reactivate', { path: { id } }).catch((failure) =>
      note(failure.message),
    );
    list.again();
  }
  const items = (user: User) => [
    { name: t.admin.change_user, icon: 'edit' as const, run: () => set_asking({ what: 'change', user }) },
    { name: t.admin.end_sessions, icon: 'leave' as const, danger: true, run: () => set_asking({ what: 'end', user }) },
    user.suspended
      ? { name: t.admin.reactivate, icon: 'play' as const, run: () => void reactivate(user.id) }
      : {
          name: t.admin.suspend,
          icon: 'stop' as const,
          danger: true,
          run: () => set_asking({ what: 'suspend', user }),
        },
  ];
  const fields: FieldOf<Body<'post', '/api/internal/users/{id}/promote'>>[] = [
    {
      name: 'tier',
      label: t.deployment.tier,
      kind: 'choice',
      choices: (tiers.value ?? []).map((tier) => [tier.slug, tier.name]),
    },
    { name: 'is_admin', label: t.admin.is_admin, kind: 'check', hint: t.admin.is_admin_hint },
  ];
  return (
    <>
      <Search
        label={t.admin.find}
        onSearch={(words) => {
          ask(words);
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
                          <strong>{user.username}</strong>
                          {user.is_admin && <span class="tag">{t.admin.admin}</span>}
                          {user.suspended && <span class="badge bad">{t.admin.suspended}</span>}
                          {!user.email_verified && <span class="badge warn">{t.account.unverified}</span>}
                        </div>
                        <div class="small faint">{user.email}</div>
                      </td>
                      <td class="end number">{number(user.points)}</td>
                      <td>{user.tier}</td>
                      <td class="soft">
                        <Time at={user.inserted_at} />
                      </td>
                      <td class="end">
                        <Menu label={t.admin.more_of(user.username)} items={items(user)} />
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
      {asking?.what === 'suspend' && (
        <Confirm
          title={t.admin.suspend_title(asking.user.username)}
          action={t.admin.suspend}
          danger
          onClose={() => set_asking(null)}
          run={async () => {
            await call('post', '/api/internal/users/{id}/suspend', { path: { id: asking.user.id } });
            list.again();
          }}>
          <p>{t.admin.suspend_text}</p>
        </Confirm>
      )}
      {asking?.what === 'end' && (
        <Confirm
          title={t.admin.end_sessions_title(asking.user.username)}
          action={t.admin.end_sessions}
          danger
          onClose={() => set_asking(null)}
          run={async () => {
            await call('delete', '/api/internal/users/{id}/sessions', { path: { id: asking.user.id } });
            note(t.admin.sessions_ended(asking.user.username));
            list.again();
          }}>
          <p>{t.admin.end_sessions_text}</p>
        </Confirm>
      )}
      {asking?.what === 'change' && (
        <FormDialog
          title={t.admin.change_title(asking.user.username)}
          fields={fields}
          values={asking.user}
          changes
          action={t.app.save}
          onClose={() => set_asking(null)}
          run={async (body) => {
            await call('post', '/api/internal/users/{id}/promote', { path: { id: asking.user.id }, body });
            list.again();
          }}
        />
      )}
    </>
  );
}

type Minting = { kind: 'treasury' | 'user' | 'app'; id: string; amount: number; reason: string };
const mint_fields: FieldOf<Minting>[] = [
  {
    name: 'kind',
    label: t.admin.kind,
    kind: 'choice',
    choices: [
      ['treasury', t.admin.treasury_kind],
      ['user', t.admin.user_kind],
      ['app', t.admin.app_kind],
    ],
  },
  { name: 'amount', label: t.menu.points, kind: 'number' },
  { name: 'id', label: t.admin.id, hint: t.admin.id_hint, mono: true, errors: ['user_not_found', 'app_not_found'] },
  { name: 'reason', label: t.points_screen.why },
];

function Economy() {
  const treasury = useReading(() => call('get', '/api/internal/treasury'), []);
  const [audit, show] = useState<Answer<'get', '/api/internal/ledger/audit'> | null>(null);
  const [minting, mint] = useState(false);
  const [round, next] = useState(0); // counts what was minted, after which the days are read again
  const check = useSubmit(async () => show(await call('get', '/api/internal/ledger/audit')));
  return (
    <>
      <Card
        title={t.menu.points}
        bare
        actions={
          <Button slim kinds={['main-action']} onClick={() => mint(true)}>
            {t.admin.mint}
          </Button>
        }>
        <Read of={treasury}>
          {(value) => (
            <div class="body figures large">
              <div class="figure">
                <span class="small faint">{t.admin.treasury}</span>
                <span class="value">{number(value.balance)}</span>
              </div>
              <div class="figure">
                <span class="small faint">{t.admin.minted}</span>
                <span class="value">{number(value.minted)}</span>
              </div>
            </div>
          )}
        </Read>
      </Card>
      <Days
        title={t.admin.treasury_days}
        label={t.points_screen.plot}
        keys={[round]}
        read={async (from, to) => (await call('get', '/api/internal/treasury/days', { query: { from, to } })).days}
        shown={{
          value: (day) => day.balance,
          columns: [
            [t.points_screen.balance, (day) => day.balance],
            [t.points_screen.in, (day) => day.received],
            [t.points_screen.out, (day) => day.given],
            [t.admin.minted_that_day, (day) => day.minted],
            [t.admin.supply, (day) => day.supply],
          ],
        }}
      />
      <Card
        title={t.admin.ledger}
        bare
        actions={
          <Button slim busy={check.busy} onClick={() => check.submit()}>
            {t.admin.check}
          </Button>
        }>
        {check.error && (
          <div class="body">
            <Failed error={check.error} />
          </div>
        )}
        {!audit && !check.error && <p class="body soft">{t.admin.ledger_text}</p>}
        {audit && (
          <div class="body">
            <Banner kind={audit.ok ? 'info' : 'bad'} title={audit.ok ? t.admin.sound : t.admin.unsound} role="status" />
          </div>
        )}
        {audit && (
          <ul class="list">
            {audit.checks.map((one) => (
              <li key={one.name}>
                <span class={`badge ${one.ok ? 'good' : 'bad'}`}>
                  {one.ok ? t.admin.holds : t.history.states.failed}
                </span>
                <div class="grow">
                  <div>{t.reason_word(one.name)}</div>
                  <div class="small faint break">{one.detail}</div>
                </div>
              </li>
            ))}
          </ul>
        )}
      </Card>
      {minting && (
        <FormDialog<Minting>
          title={t.admin.mint}
          fields={mint_fields}
          action={t.admin.mint}
          onClose={() => mint(false)}
          run={async ({ kind, id, amount, reason }, once) => {
            await call('post', '/api/internal/points/mint', {
              once,
              body: { account: { kind, ...(id ? { id } : {}) }, amount, reason },
            });
            note(t.admin.minted_now);
            treasury.again();
            next(round + 1);
          }}
        />
      )}
    </>
  );
}

function Words() {
  const list = useReading(() => call('get', '/api/internal/chat/words'), []);
  return (
    <div class="columns">
      <Card title={t.admin.words} bare>
        <Read of={list}>
          {({ words }) => (
            <div class="body">
              <Form<{ words: string[] }>
                key={words.join('\n')}
                changes
                values={{ words }}
                action={t.app.save}
                fields={[{ name: 'words', label: t.admin.words_label, kind: 'lines', hint: t.admin.words_hint }]}
                run={async (body) => {
                  await call('put', '/api/internal/chat/words', { body });
                  note(t.app.changed);
                  list.again();
                }}
              />
            </div>
          )}
        </Read>
      </Card>
      <Card title={t.admin.message}>
        <Form<{ id: string }>
          action={t.admin.delete_message}
          danger
          fields={[
            {
              name: 'id',
              label: t.admin.message_id,
              mono: true,
              hint: t.admin.message_hint,
              errors: ['message_not_found'],
            },
          ]}
          run={async ({ id }) => {
            await call('delete', '/api/internal/chat/messages/{id}', { path: { id: id ?? '' } });
            note(t.admin.message_deleted);
          }}
        />
      </Card>
    </div>
  );
}

const parts = {
  requests: Requests,
  apps: AdminApps,
  deployments: AdminDeployments,
  users: Users,
  economy: Economy,
  tiers: Tiers,
  market: Market,
  shop: Shop,
  learning: Learning,
  words: Words,
  audit: Audit,
  fleet: Fleet,
};

export function AdminScreen({ part }: { part: string }) {
  const section = admin_sections.find((one) => one.key === part) ?? admin_sections[0]!;
  const Part = parts[section.key];
  if (!me.value!.is_admin)
    return (
      <Page title={t.admin.heading}>
        <section class="card">
          <Empty icon="key" title={t.admin.only} text={t.admin.only_text} />
        </section>
      </Page>
    );
  if (!me.value!.totp_enabled)
    return (
      <Page title={t.admin.heading}>
        <section class="card">
          <Empty icon="key" title={t.admin.need_factor} text={t.admin.need_factor_text}>
            <a class="button main-action" href="/account/totp">
              {t.admin.set_up}
            </a>
          </Empty>
        </section>
      </Page>
    );
  return (
    <Page key={section.key} title={section.name} crumbs={[[t.admin.heading, '/admin']]}>
      <Part />
    </Page>
  );
}
