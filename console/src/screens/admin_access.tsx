// For admins: who the admins are and what they may do, and the internal secrets that they made for machines.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { type Answer, type Body, call } from '../api';
import { Confirm, type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Read, Table } from '../components/table';
import { Button, Card, Copy, Empty, Time } from '../components/ui';
import { useReading } from '../components/use';
import { t } from '../messages';
import { may } from '../session';
import { Actor, user_href } from './admin_parts';
import { OnceShown } from './new_app';

type Made = Answer<'post', '/api/internal/secrets'>;
type Secret = Made['internal_secret'];

const roles = ['admin', 'support', 'finance'] as const;
export const role_choices = () => roles.map((role) => [role, t.admin.roles[role]] as const);

const secret_fields = (): FieldOf<Body<'post', '/api/internal/secrets'>>[] => [
  { name: 'name', label: t.admin.secret_name, mono: true, hint: t.admin.secret_name_hint, required: true },
  { name: 'role', label: t.admin.role, kind: 'choice', choices: role_choices() },
  { name: 'expires_in_days', label: t.admin.secret_days, kind: 'number', hint: t.admin.secret_days_hint },
];

function Admins() {
  const list = useReading(() => call('get', '/api/internal/admins'), []);
  return (
    <Card title={t.admin.admins} bare>
      <Read of={list}>
        {({ admins }) => (
          <Table label={t.admin.admins} columns={[t.admin.user, t.admin.role, t.account.factor]}>
            {admins.map((admin) => (
              <tr key={admin.id}>
                <td>
                  <div class="row tight">
                    <Link href={user_href(admin.id)}>{admin.username}</Link>
                    {admin.suspended && <span class="badge bad">{t.admin.suspended}</span>}
                  </div>
                </td>
                <td>{t.admin.roles[admin.role]}</td>
                <td>{admin.totp_enabled ? t.account.on : t.account.off}</td>
              </tr>
            ))}
          </Table>
        )}
      </Read>
      <p class="body small soft">{t.admin.admins_text}</p>
    </Card>
  );
}

function Secrets() {
  const list = useReading(() => call('get', '/api/internal/secrets'), []);
  const [making, make] = useState(false);
  const [made, show] = useState<Made | null>(null);
  const [revoking, revoke] = useState<Secret | null>(null);
  return (
    <Card
      title={t.admin.secrets}
      bare
      actions={
        <Button slim kinds={['main-action']} icon="plus" onClick={() => make(true)}>
          {t.admin.make_secret}
        </Button>
      }>
      <Read of={list}>
        {({ secrets }) =>
          secrets.length === 0 ? (
            <Empty icon="key" title={t.admin.no_secrets} text={t.admin.secrets_text} />
          ) : (
            <Table
              label={t.admin.secrets}
              columns={[
                t.app.name,
                t.admin.role,
                t.admin.last_use,
                t.admin.secret_ends,
                { name: t.admin.action, unseen: true },
              ]}>
              {secrets.map((secret) => (
                <tr key={secret.id}>
                  <td>
                    <strong class="mono break">{secret.name}</strong>
                    <div class="small faint">
                      <Actor actor={secret.made_by} /> · <Time at={secret.inserted_at} />
                    </div>
                  </td>
                  <td>{t.admin.roles[secret.role]}</td>
                  <td class="soft">{secret.last_used_at ? <Time at={secret.last_used_at} /> : '–'}</td>
                  <td class="soft">{secret.expires_at ? <Time at={secret.expires_at} /> : '–'}</td>
                  <td class="end">
                    <Button slim kinds={['danger']} onClick={() => revoke(secret)}>
                      {t.admin.revoke_secret}
                    </Button>
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Read>
      {making && (
        <FormDialog<Body<'post', '/api/internal/secrets'>>
          title={t.admin.make_secret}
          action={t.admin.make_secret}
          fields={secret_fields()}
          onClose={() => make(false)}
          run={async (body) => {
            show(await call('post', '/api/internal/secrets', { body }));
            list.again();
          }}
        />
      )}
      {made && (
        <OnceShown title={t.admin.secrets} onSaved={() => show(null)}>
          <Copy text={made.secret} label={made.internal_secret.name} />
        </OnceShown>
      )}
      {revoking && (
        <Confirm
          title={t.admin.revoke_secret_title(revoking.name)}
          action={t.admin.revoke_secret}
          danger
          onClose={() => revoke(null)}
          run={async () => {
            await call('delete', '/api/internal/secrets/{id}', { path: { id: revoking.id } });
            note(t.admin.secret_revoked);
            list.again();
          }}>
          <p>{t.admin.revoke_secret_text}</p>
        </Confirm>
      )}
    </Card>
  );
}

export function Access() {
  return (
    <>
      <Admins />
      {may() && <Secrets />}
    </>
  );
}
