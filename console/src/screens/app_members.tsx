// The members of an app: who may do what, invitations that are open, and giving the app to another account.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { type Answer, type Body, call } from '../api';
import { Confirm, type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { password_field } from '../components/password';
import { Read } from '../components/table';
import { Banner, Button, Card, Empty, Menu, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type App, listed, load, news } from '../data';
import { t } from '../messages';
import { may, may_be_limited, may_manage, type Role, role_choices } from '../roles';
import { me } from '../session';

type List = Answer<'get', '/api/oauth/my-apps/{app_id}/members'>;
type Member = List['members'][number];
type Invitation = List['invitations'][number];
type Transfer = Body<'post', '/api/oauth/my-apps/{app_id}/transfer'>;

// What is typed about somebody who is invited, or whose access is changed.
interface Access {
  who: string; // an address or a user name
  role: Role;
  deployments: string[];
}

const own_deployments = (app: App) => listed.value.filter((one) => one.app_id === app.id);
const name_of = (id: string) => listed.value.find((one) => one.id === id)?.name ?? id;

function fields_of(app: App): FieldOf<Access>[] {
  const deployments = own_deployments(app);
  return [
    { name: 'role', label: t.roles.label, kind: 'cards', choices: role_choices(app.role), required: true },
    ...(deployments.length > 0
      ? [
          {
            name: 'deployments',
            label: t.members.only_these,
            kind: 'many',
            hint: t.members.only_these_hint,
            choices: deployments.map((one) => [one.id, one.name ?? one.subdomain] as const),
          } as const,
        ]
      : []),
  ];
}
// None of them means all; whoever has a higher role can't be limited.
const limit_of = ({ role, deployments }: Access) => (deployments?.length && may_be_limited(role) ? deployments : null);

export function Limits({ to }: { to: string[] | null }) {
  if (!to) return null;
  return (
    <div class="row tight">
      {to.map((id) => (
        <span class="tag" key={id}>
          {name_of(id)}
        </span>
      ))}
    </div>
  );
}

function Leave({ app, onClose }: { app: App; onClose: () => void }) {
  const [, go] = useLocation();
  return (
    <Confirm
      title={t.members.leave_title(app.app_name)}
      action={t.members.leave}
      danger
      onClose={onClose}
      run={async () => {
        await call('delete', '/api/oauth/my-apps/{app_id}/members/{user_id}', {
          path: { app_id: app.id, user_id: me.value!.id },
        });
        go('/apps');
        await load();
      }}>
      <p>{t.members.leave_text}</p>
    </Confirm>
  );
}

function Row({
  app,
  member,
  is_account,
  may_transfer,
  again,
}: {
  app: App;
  member: Member;
  is_account: boolean; // the one that the app belongs to
  may_transfer: boolean;
  again: () => void;
}) {
  const [asking, ask] = useState<'change' | 'remove' | 'leave' | 'transfer' | null>(null);
  const path = { app_id: app.id, user_id: member.user_id };
  const is_me = member.user_id === me.value!.id;
  const manages = !is_account && !is_me && may_manage(app.role, member.role);
  const remove = () => call('delete', '/api/oauth/my-apps/{app_id}/members/{user_id}', { path });
  const items = [
    ...(manages ? [{ name: t.members.change, icon: 'edit' as const, run: () => ask('change') }] : []),
    ...(may_transfer && !is_me
      ? [{ name: t.members.transfer, icon: 'send' as const, run: () => ask('transfer') }]
      : []),
    ...(manages ? [{ name: t.members.remove, icon: 'trash' as const, danger: true, run: () => ask('remove') }] : []),
    ...(is_me && !is_account
      ? [{ name: t.members.leave, icon: 'leave' as const, danger: true, run: () => ask('leave') }]
      : []),
  ];
  return (
    <li>
      <div class="grow">
        <div class="row tight">
          <bdi class="break">{member.username}</bdi>
          {is_me && <span class="small faint">{t.members.you}</span>}
        </div>
        <div class="small faint">
          {is_account ? (
            t.members.account
          ) : (
            <>
              {t.members.joined} <Time at={member.inserted_at} />
            </>
          )}
        </div>
        <Limits to={member.deployments} />
      </div>
      <span class="badge" title={t.roles.what[member.role]}>
        {t.roles.names[member.role]}
      </span>
      {items.length > 0 && <Menu label={t.webhooks.more(member.username)} items={items} />}
      {asking === 'change' && (
        <FormDialog<Access>
          title={t.members.change_of(member.username)}
          fields={fields_of(app)}
          values={{ role: member.role, deployments: member.deployments ?? [] }}
          action={t.app.save}
          onClose={() => ask(null)}
          run={async (access) => {
            const { role } = access;
            await call('patch', '/api/oauth/my-apps/{app_id}/members/{user_id}', {
              path,
              body: { role, deployments: limit_of(access) },
            });
            note(t.app.changed);
            again();
          }}
        />
      )}
      {asking === 'remove' && (
        <Confirm
          title={t.members.remove_title(member.username)}
          action={t.members.remove}
          danger
          onClose={() => ask(null)}
          run={async () => {
            await remove();
            note(t.members.removed(member.username));
            again();
          }}>
          <p>{t.members.remove_text}</p>
        </Confirm>
      )}
      {asking === 'leave' && <Leave app={app} onClose={() => ask(null)} />}
      {asking === 'transfer' && (
        <FormDialog<Transfer & { word: string }>
          title={t.members.transfer_title(app.app_name, member.username)}
          fields={[
            { name: 'word', label: t.frame.type_to_confirm(app.app_name), mono: true, expected: app.app_name },
            password_field,
          ]}
          action={t.members.transfer}
          danger
          onClose={() => ask(null)}
          run={async ({ word: _, ...proof }) => {
            await call('post', '/api/oauth/my-apps/{app_id}/transfer', {
              path: { app_id: app.id },
              body: { ...proof, user_id: member.user_id },
            });
            note(t.members.transferred(member.username));
            again();
            await load();
          }}>
          <p>{t.members.transfer_text}</p>
        </FormDialog>
      )}
    </li>
  );
}

function Invited({ app, of, again }: { app: App; of: Invitation; again: () => void }) {
  const who = of.email ?? of.username ?? '';
  async function withdraw() {
    await call('delete', '/api/oauth/my-apps/{app_id}/invitations/{invitation_id}', {
      path: { app_id: app.id, invitation_id: of.id },
    }).then(
      () => note(t.members.withdrawn),
      (failure) => note(failure.message),
    );
    again();
  }
  return (
    <li>
      <div class="grow">
        <bdi class="break">{who}</bdi>
        <div class="small faint">
          {t.members.invited_by(of.invited_by)} <Time at={of.inserted_at} /> · {t.members.until}{' '}
          <Time at={of.expires_at} />
        </div>
        <Limits to={of.deployments} />
      </div>
      <span class="badge">{t.roles.names[of.role]}</span>
      {may_manage(app.role, of.role) && (
        <Button slim aria-label={t.members.withdraw_of(who)} onClick={withdraw}>
          {t.app.withdraw}
        </Button>
      )}
    </li>
  );
}

export function AppMembers({ app }: { app: App }) {
  const list = useReading(
    () => call('get', '/api/oauth/my-apps/{app_id}/members', { path: { app_id: app.id } }),
    [app.id, news.value[app.id]],
  );
  const [inviting, invite] = useState(false);
  const [leaving, leave] = useState(false);
  const manages = may(app, 'admin');
  // The account that the app belongs to comes first.
  const account = list.value?.members[0]?.user_id;
  return (
    <div class="stack wide">
      <p class="soft">{t.members.text}</p>
      {!manages && (
        <Banner kind="info">
          <p>{t.roles.needs(t.roles.names.admin, t.roles.names[app.role])}</p>
        </Banner>
      )}
      <Card
        title={t.members.heading}
        bare
        actions={
          manages && (
            <Button slim kinds={['main-action']} icon="plus" onClick={() => invite(true)}>
              {t.members.invite}
            </Button>
          )
        }>
        <Read of={list}>
          {({ members }) => (
            <ul class="list">
              {members.map((member) => (
                <Row
                  key={member.user_id}
                  app={app}
                  member={member}
                  is_account={member.user_id === account}
                  may_transfer={account === me.value!.id}
                  again={list.again}
                />
              ))}
            </ul>
          )}
        </Read>
      </Card>
      {list.value && (manages || list.value.invitations.length > 0) && (
        <Card title={t.members.invitations} bare>
          {list.value.invitations.length === 0 ? (
            <Empty icon="send" title={t.members.none_invited} text={t.members.none_invited_text} />
          ) : (
            <ul class="list">
              {list.value.invitations.map((one) => (
                <Invited key={one.id} app={app} of={one} again={list.again} />
              ))}
            </ul>
          )}
        </Card>
      )}
      {/* Whoever is limited to single deployments can't see the list. */}
      {list.error?.status === 403 && (
        <div>
          <Button kinds={['danger']} icon="leave" onClick={() => leave(true)}>
            {t.members.leave}
          </Button>
        </div>
      )}
      {leaving && <Leave app={app} onClose={() => leave(false)} />}
      {inviting && (
        <FormDialog<Access>
          title={t.members.invite}
          fields={[
            {
              name: 'who',
              label: t.members.who,
              hint: t.members.who_hint,
              required: true,
              errors: ['user_not_found', 'invalid_state'],
            },
            ...fields_of(app),
          ]}
          values={{ role: 'developer' }}
          action={t.members.send}
          onClose={() => invite(false)}
          run={async (access) => {
            const { who, role } = access;
            await call('post', '/api/oauth/my-apps/{app_id}/members', {
              path: { app_id: app.id },
              body: {
                ...(who.includes('@') ? { email: who } : { username: who }),
                role,
                deployments: limit_of(access),
              },
            });
            note(t.members.invited(who));
            list.again();
          }}
        />
      )}
    </div>
  );
}
