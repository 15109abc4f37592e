// Personal tokens: what programs of the person's own may do in their name, and when each was last used.
import { useState } from 'preact/hooks';
import { type Answer, call } from '../api';
import { Confirm, type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { password_field } from '../components/password';
import { Read } from '../components/table';
import { Button, Card, Copy, Empty, Time } from '../components/ui';
import { useReading } from '../components/use';
import { app_of, apps, listed } from '../data';
import { scope_text, t } from '../messages';
import { OnceShown } from './new_app';

type Token = Answer<'get', '/api/auth/tokens'>['tokens'][number];

const offered = [
  'deploy:read',
  'logs:read',
  'deploy:write',
  'deploy:exec',
  'campaigns:manage',
  'app:balance:read',
] as const;
const usual_days = '90';
// How long a token may live, in days.
const lifetimes = ['7', '30', usual_days, '180', '365'];

// What is typed. `where` is an id behind a word that says what it is of, or empty for all apps.
interface Creation {
  name: string;
  scopes: string[];
  where: string;
  days: string;
  password: string;
}

// All apps, each app, and each deployment.
const places = () => [
  ['', t.tokens.everywhere] as const,
  ...(apps.value ?? []).flatMap((app) => [
    [`app ${app.id}`, app.app_name] as const,
    ...listed.value
      .filter((one) => one.app_id === app.id)
      .map((one) => [`deployment ${one.id}`, `${app.app_name} › ${one.name ?? one.subdomain}`] as const),
  ]),
];
function place_of(where = '') {
  const [kind, id = ''] = where.split(' ');
  if (kind === 'app') return { app_id: id };
  const deployment = listed.value.find((one) => one.id === id);
  return kind === 'deployment' && deployment ? { app_id: deployment.app_id, deployment_id: id } : {};
}

const fields = (): FieldOf<Creation>[] => [
  { name: 'name', label: t.app.name, hint: t.tokens.name_hint, required: true, most: 64 },
  {
    name: 'scopes',
    label: t.tokens.scopes,
    kind: 'many',
    required: true,
    values_shown: true,
    hint: t.tokens.scopes_hint,
    choices: offered.map((scope) => [scope, t.tokens.grants[scope]]),
  },
  { name: 'where', label: t.tokens.where, kind: 'choice', choices: places() },
  {
    name: 'days',
    label: t.tokens.lifetime,
    kind: 'choice',
    choices: lifetimes.map((days) => [days, t.tokens.days(Number(days))]),
  },
  password_field,
];

function Row({ token, again }: { token: Token; again: () => void }) {
  const [asking, ask] = useState(false);
  const deployment = listed.value.find((one) => one.id === token.deployment_id);
  const app = token.app_id ? (app_of(token.app_id)?.app_name ?? token.app_id) : t.tokens.everywhere;
  return (
    <li>
      <div class="grow">
        <div class="row tight">
          <bdi class="break">{token.name}</bdi>
          <code class="small faint" title={t.tokens.hint}>
            …{token.hint}
          </code>
        </div>
        <div class="row tight">
          {token.scopes.map((scope) => (
            <span class="tag" key={scope} title={scope_text(scope)}>
              {scope}
            </span>
          ))}
        </div>
        <div class="small faint">
          {app}
          {token.deployment_id && ` › ${deployment?.name ?? token.deployment_id}`} · {t.tokens.ends}{' '}
          <Time at={token.expires_at} /> · {t.account.used}{' '}
          {token.last_used_at ? <Time at={token.last_used_at} /> : t.account.never}
          {token.last_used_from && ` (${token.last_used_from})`}
        </div>
      </div>
      <Button slim aria-label={t.tokens.revoke_of(token.name)} onClick={() => ask(true)}>
        {t.tokens.revoke}
      </Button>
      {asking && (
        <Confirm
          title={t.tokens.revoke_title(token.name)}
          action={t.tokens.revoke}
          danger
          onClose={() => ask(false)}
          run={async () => {
            await call('delete', '/api/auth/tokens/{id}', { path: { id: token.id } });
            note(t.tokens.revoked);
            again();
          }}>
          <p>{t.tokens.revoke_text}</p>
        </Confirm>
      )}
    </li>
  );
}

export function Tokens() {
  const list = useReading(() => call('get', '/api/auth/tokens'), []);
  const [creating, create] = useState(false);
  const [made, show] = useState<string | null>(null);
  return (
    <Card
      title={t.tokens.heading}
      anchor="tokens"
      bare
      actions={
        <Button slim icon="plus" onClick={() => create(true)}>
          {t.tokens.create}
        </Button>
      }>
      <Read of={list}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty icon="key" title={t.tokens.none} text={t.tokens.none_text} />
          ) : (
            <ul class="list">
              {tokens.map((token) => (
                <Row key={token.id} token={token} again={list.again} />
              ))}
            </ul>
          )
        }
      </Read>
      {creating && (
        <FormDialog<Creation>
          title={t.tokens.create}
          fields={fields()}
          values={{ scopes: ['deploy:read', 'logs:read'], days: usual_days }}
          action={t.tokens.create}
          onClose={() => create(false)}
          run={async ({ where, days, password, ...body }) => {
            const { token } = await call('post', '/api/auth/tokens', {
              body: {
                ...body,
                ...place_of(where),
                ...(password ? { password } : {}),
                expires_in_days: Number(days),
              },
            });
            show(token);
            list.again();
          }}>
          <p class="soft">{t.tokens.text}</p>
        </FormDialog>
      )}
      {made && (
        <OnceShown title={t.tokens.made} text={t.tokens.once} onSaved={() => show(null)}>
          <Copy text={made} label={t.tokens.one} />
        </OnceShown>
      )}
    </Card>
  );
}
