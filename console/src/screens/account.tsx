// The account: its name, password and second factor, where it is logged in, and which apps have access.
import { useState } from 'preact/hooks';
import { type Answer, type Body, call } from '../api';
import { Confirm, type FieldOf, Form, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Read } from '../components/table';
import { Banner, Button, Card, Copy, Dialog, Empty, Menu, Page, Time } from '../components/ui';
import { useReading } from '../components/use';
import { tier_name } from '../data';
import { device, number } from '../format';
import { scope_text, t } from '../messages';
import { log_out, me, reload_me } from '../session';
import { Tokens } from './account_tokens';
import { OwnAudit } from './audit';

type Connection = Answer<'get', '/api/oauth/connected-apps'>['connected_apps'][number];
type NewPassword = Body<'post', '/api/auth/change-password'>;
type EmailChange = Body<'post', '/api/auth/email-change'>;
type Proof = Body<'post', '/api/auth/totp/disable'>;

const password_field = {
  name: 'password' as const,
  label: t.account.password,
  kind: 'password' as const,
  autocomplete: 'current-password',
  errors: ['invalid_credentials', 'insufficient_user_authentication'],
};
const code_field = {
  name: 'code' as const,
  label: t.admin.code,
  autocomplete: 'one-time-code',
  errors: ['invalid_totp'],
};

function Profile() {
  const verified = me.value!.email_verified;
  const [changing, change] = useState(false);
  const email_fields: FieldOf<EmailChange>[] = [
    { name: 'new_email', label: t.account.new_email, hint: t.account.new_email_hint, autocomplete: 'email' },
    password_field,
    ...(me.value!.totp_enabled
      ? [
          {
            ...code_field,
            name: 'totp_code' as const,
            hint: t.account.or_recovery,
            errors: ['invalid_totp', 'totp_required'],
          },
        ]
      : []),
  ];
  const again = () =>
    call('post', '/api/auth/resend-verification').then(
      () => note(t.account.mailed),
      (failure) => note(failure.message),
    );
  return (
    <Card title={t.account.profile}>
      <div class="stack">
        <Form
          key={me.value!.username}
          changes
          values={me.value!}
          action={t.account.rename}
          fields={
            [
              { name: 'username', label: t.account.username, hint: t.account.username_hint, autocomplete: 'nickname' },
            ] as FieldOf<{ username: string }>[]
          }
          run={async (body) => {
            await call('patch', '/api/auth/me', { body });
            me.value = { ...me.value!, username: body.username };
            note(t.account.renamed);
          }}
        />
        <dl class="facts">
          <dt>{t.account.email}</dt>
          <dd>
            <div class="row tight">
              {me.value!.email}{' '}
              <span class={`badge ${verified ? 'good' : 'warn'}`}>
                {verified ? t.account.verified : t.account.unverified}
              </span>
              {!verified && (
                <Button slim onClick={again}>
                  {t.account.mail_again}
                </Button>
              )}
              <Button slim onClick={() => change(true)}>
                {t.account.change_email}
              </Button>
            </div>
          </dd>
          <dt>{t.deployment.tier}</dt>
          <dd>{tier_name(me.value!.tier)}</dd>
        </dl>
      </div>
      {changing && (
        <FormDialog<EmailChange>
          title={t.account.change_email}
          action={t.account.change_email}
          fields={email_fields}
          onClose={() => change(false)}
          run={async (body) => {
            await call('post', '/api/auth/email-change', { body });
            note(t.account.email_asked);
          }}
        />
      )}
    </Card>
  );
}

function Password({ onChange }: { onChange: () => void }) {
  const fields: FieldOf<NewPassword>[] = [
    {
      name: 'current_password',
      label: t.account.current_password,
      kind: 'password',
      autocomplete: 'current-password',
      errors: ['invalid_credentials'],
    },
    {
      name: 'new_password',
      label: t.account.new_password,
      kind: 'password',
      autocomplete: 'new-password',
      hint: t.account.password_hint,
    },
    { name: 'end_others', label: t.account.end_others, kind: 'check', hint: t.account.end_others_hint },
  ];
  return (
    <Card title={t.account.password}>
      <Form
        fields={fields}
        values={{ end_others: true }}
        action={t.account.change_password}
        run={async (body) => {
          await call('post', '/api/auth/change-password', { body });
          note(t.account.password_changed);
          onChange();
        }}
      />
    </Card>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  return (
    <Dialog title={t.account.codes} onClose={onClose} closable={false}>
      <Banner kind="warn">
        <p>{t.account.codes_text}</p>
      </Banner>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <Copy text={codes.join(' ')} label={t.account.codes} show={t.account.copy_codes} />
      <div class="actions">
        <a
          class="button"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(codes.join('\n') + '\n')}`}
          download="berth-recovery-codes.txt">
          {t.account.download_codes}
        </a>
        <Button kinds={['main-action']} onClick={onClose}>
          {t.app.saved}
        </Button>
      </div>
    </Dialog>
  );
}

// The QR code that berthd has drawn; its edge belongs to it, so the ground is white in the dark as well.
function QrCode({ size, path }: { size: number; path: string }) {
  return (
    <svg
      class="qr"
      role="img"
      aria-label={t.account.qr_code}
      viewBox={`0 0 ${size} ${size}`}
      shape-rendering="crispEdges">
      <path fill="#fff" d={`M0 0h${size}v${size}H0z`} />
      <path fill="#000" d={path} />
    </svg>
  );
}

function SecondFactor({ onChange }: { onChange: () => void }) {
  const [asking, ask] = useState<'off' | 'codes' | null>(null);
  const [setup, set_up] = useState<Answer<'post', '/api/auth/totp/setup'> | null>(null);
  const [codes, show] = useState<string[] | null>(null);
  const on = me.value!.totp_enabled;
  const begin = () => call('post', '/api/auth/totp/setup').then(set_up, (failure) => note(failure.message));
  return (
    <Card
      title={t.account.factor}
      anchor="second-factor"
      actions={<span class={`badge ${on ? 'good' : 'warn'}`}>{on ? t.account.on : t.account.off}</span>}>
      <div class="stack">
        <p class="soft">{on ? t.account.factor_on : t.account.factor_off}</p>
        <div class="row tight">
          {on ? (
            <>
              <Button onClick={() => ask('codes')}>{t.account.new_codes}</Button>
              <Button kinds={['danger']} onClick={() => ask('off')}>
                {t.account.turn_off}
              </Button>
            </>
          ) : (
            <Button kinds={['main-action']} onClick={begin}>
              {t.account.set_up}
            </Button>
          )}
        </div>
      </div>
      {setup && (
        <FormDialog<Body<'post', '/api/auth/totp/enable'>>
          title={t.account.set_up_factor}
          action={t.account.turn_on}
          fields={[code_field, password_field]}
          onClose={() => set_up(null)}
          run={async (body) => {
            show((await call('post', '/api/auth/totp/enable', { body })).recovery_codes);
            await reload_me();
          }}>
          <p>{t.account.secret_text}</p>
          <QrCode {...setup.qr_code} />
          <Copy text={setup.secret} label={t.app.secret} />
          <p class="small">
            <a href={setup.uri}>{t.account.open_authenticator}</a>
          </p>
        </FormDialog>
      )}
      {asking === 'codes' && (
        <FormDialog<Body<'post', '/api/auth/totp/recovery-codes'>>
          title={t.account.new_codes}
          action={t.account.new_codes}
          fields={[
            {
              ...code_field,
              name: 'totp_code' as const,
              hint: t.account.or_recovery,
              errors: ['invalid_totp', 'insufficient_user_authentication'],
            },
          ]}
          onClose={() => ask(null)}
          run={async (body) => {
            show((await call('post', '/api/auth/totp/recovery-codes', { body })).recovery_codes);
          }}>
          <p>{t.account.new_codes_text}</p>
        </FormDialog>
      )}
      {asking === 'off' && (
        <FormDialog<Proof>
          title={t.account.turn_off_title}
          action={t.account.turn_off}
          danger
          fields={[password_field, { ...code_field, hint: t.account.or_recovery }]}
          onClose={() => ask(null)}
          run={async (body) => {
            await call('post', '/api/auth/totp/disable', { body });
            await reload_me();
            note(t.account.turned_off);
            onChange();
          }}>
          <p>{t.account.turn_off_text}</p>
        </FormDialog>
      )}
      {codes && (
        <RecoveryCodes
          codes={codes}
          onClose={() => {
            show(null);
            onChange();
          }}
        />
      )}
    </Card>
  );
}

// Making and removing one takes proofs and the browser's dialogs, which the hosted page has.
function Passkeys() {
  const list = useReading(() => call('get', '/api/auth/passkeys'), []);
  const [renaming, rename] = useState<{ id: string; name: string } | null>(null);
  return (
    <Card
      title={t.account.passkeys}
      anchor="passkeys"
      bare
      actions={
        <a class="button slim" href="/account/passkeys">
          {t.account.look_after_passkeys}
        </a>
      }>
      <Read of={list}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <Empty icon="key" title={t.account.no_passkeys} text={t.account.no_passkeys_text} />
          ) : (
            <ul class="list">
              {passkeys.map((passkey) => (
                <li key={passkey.id}>
                  <div class="grow">
                    <div class="break">{passkey.name}</div>
                    <div class="small faint">
                      {t.account.used} {passkey.last_used_at ? <Time at={passkey.last_used_at} /> : t.account.never}
                    </div>
                  </div>
                  <Button slim onClick={() => rename(passkey)}>
                    {t.account.rename_passkey}
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Read>
      {renaming && (
        <FormDialog<{ name: string }>
          title={t.account.rename_passkey}
          action={t.account.rename_passkey}
          fields={[{ name: 'name', label: t.account.passkey_name }]}
          values={renaming}
          onClose={() => rename(null)}
          run={async (body) => {
            await call('patch', '/api/auth/passkeys/{id}', { path: { id: renaming.id }, body: { name: body.name } });
            list.again();
          }}
        />
      )}
    </Card>
  );
}

function End() {
  const [asking, ask] = useState(false);
  return (
    <Card title={t.account.delete}>
      <div class="stack">
        <p class="soft">{t.account.delete_text}</p>
        <div>
          <Button kinds={['danger']} icon="trash" onClick={() => ask(true)}>
            {t.account.delete}
          </Button>
        </div>
      </div>
      {asking && (
        <FormDialog<Body<'delete', '/api/auth/me'>>
          title={t.account.delete_title}
          action={t.account.delete}
          danger
          fields={[password_field]}
          onClose={() => ask(false)}
          run={async (body) => {
            await call('delete', '/api/auth/me', { body });
            location.assign('/');
          }}>
          <p>
            {t.account.delete_text} {t.account.delete_more}
          </p>
        </FormDialog>
      )}
    </Card>
  );
}

// Returns the sessions but the one that asks.
async function other_sessions() {
  const { sessions } = await call('get', '/api/auth/sessions', { query: { page_size: 100 } });
  return sessions.filter((session) => !session.current);
}

// Asked after a change of what logs one in, because somebody else may have got in by what was before.
function EndOthers({ onClose }: { onClose: () => void }) {
  return (
    <Confirm
      title={t.account.end_other_sessions}
      action={t.account.end_other_sessions}
      danger
      onClose={onClose}
      run={async () => {
        for (const { id } of await other_sessions()) await call('delete', '/api/auth/sessions/{id}', { path: { id } });
        note(t.account.others_ended);
      }}>
      <p>{t.account.end_other_sessions_text}</p>
    </Confirm>
  );
}

function Sessions() {
  const [asking, ask] = useState(false);
  const list = useReading(() => call('get', '/api/auth/sessions', { query: { page_size: 100 } }), []);
  async function end(id: string) {
    await call('delete', '/api/auth/sessions/{id}', { path: { id } }).then(
      () => note(t.account.ended),
      (failure) => note(failure.message),
    );
    list.again();
  }
  return (
    <Card
      title={t.account.sessions}
      bare
      actions={
        <>
          <Button slim onClick={() => ask(true)}>
            {t.account.end_other_sessions}
          </Button>
          <Button slim onClick={() => void log_out()}>
            {t.menu.log_out}
          </Button>
        </>
      }>
      <Read of={list}>
        {({ sessions }) => (
          <ul class="list">
            {sessions.map((session) => (
              <li key={session.id}>
                <div class="grow">
                  <div title={session.user_agent}>{device(session.user_agent) || t.account.unknown_device}</div>
                  <div class="small faint">
                    {session.address} · {t.account.since} <Time at={session.created_at} />
                  </div>
                </div>
                {session.current ? (
                  <span class="badge good">{t.account.this_one}</span>
                ) : (
                  <Button
                    slim
                    aria-label={t.account.end_of(device(session.user_agent), session.address)}
                    onClick={() => end(session.id)}>
                    {t.account.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Read>
      {asking && (
        <EndOthers
          onClose={() => {
            ask(false);
            list.again();
          }}
        />
      )}
    </Card>
  );
}

function Devices() {
  const list = useReading(() => call('get', '/api/auth/devices', { query: { page_size: 100 } }), []);
  async function end(id: string) {
    await call('delete', '/api/auth/devices/{id}', { path: { id } }).then(
      () => note(t.account.device_ended),
      (failure) => note(failure.message),
    );
    list.again();
  }
  return (
    <Card title={t.account.devices} bare>
      <Read of={list}>
        {({ devices }) =>
          devices.length === 0 ? (
            <Empty icon="account" title={t.account.no_devices} text={t.account.no_devices_text} />
          ) : (
            <ul class="list">
              {devices.map((one) => (
                <li key={one.id}>
                  <div class="grow">
                    <div class="break" title={one.program}>
                      <bdi>{one.name}</bdi>
                    </div>
                    <div class="small faint">
                      <bdi>{one.program || t.account.unknown_device}</bdi> · {one.address || t.account.unknown_place} ·{' '}
                      {t.account.since} <Time at={one.connected_at} /> · {t.account.used} <Time at={one.last_used} />
                    </div>
                  </div>
                  <Button slim aria-label={t.account.end_device_of(one.name)} onClick={() => end(one.id)}>
                    {t.account.disconnect}
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Read>
    </Card>
  );
}

const limit_fields: FieldOf<Body<'patch', '/api/oauth/connected-apps/{app_id}'>>[] = [
  { name: 'daily_spend_limit', label: t.account.daily_limit, kind: 'number', hint: t.account.daily_limit_hint },
  {
    name: 'session_access',
    label: t.account.session_access,
    kind: 'choice',
    choices: [
      ['full', t.account.access.full],
      ['read', t.account.access.read],
    ],
    hint: t.account.session_access_hint,
  },
];

function Connected() {
  const list = useReading(() => call('get', '/api/oauth/connected-apps', { query: { page_size: 100 } }), []);
  const [asking, ask] = useState<{ what: 'limit' | 'leave'; app: Connection } | null>(null);
  const path = { app_id: asking?.app.app_id ?? '' };
  return (
    <Card title={t.account.connected} bare>
      <Read of={list}>
        {({ connected_apps: all }) =>
          all.length === 0 ? (
            <Empty icon="apps" title={t.account.none_connected} text={t.account.none_connected_text} />
          ) : (
            <ul class="list">
              {all.map((app) => (
                <li key={app.app_id}>
                  <div class="grow">
                    <div class="break">{app.app_name}</div>
                    <div class="small soft">{app.scopes.map(scope_text).join(', ')}</div>
                    <div class="small faint">
                      {t.account.used} {app.last_used ? <Time at={app.last_used} /> : t.account.never}
                      {app.scopes.includes('points:spend') && (
                        <>
                          {' '}
                          ·{' '}
                          {t.account.today(
                            number(app.spent_today ?? 0),
                            app.daily_spend_limit == null ? null : number(app.daily_spend_limit),
                          )}
                        </>
                      )}
                    </div>
                  </div>
                  <Menu
                    label={t.account.more_of(app.app_name)}
                    items={[
                      { name: t.account.limits, icon: 'edit', run: () => ask({ what: 'limit', app }) },
                      {
                        name: t.account.disconnect,
                        icon: 'leave',
                        danger: true,
                        run: () => ask({ what: 'leave', app }),
                      },
                    ]}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Read>
      {asking?.what === 'limit' && (
        <FormDialog
          title={t.account.limits_of(asking.app.app_name)}
          fields={limit_fields}
          values={asking.app}
          changes
          action={t.app.save}
          onClose={() => ask(null)}
          run={async (body) => {
            await call('patch', '/api/oauth/connected-apps/{app_id}', { path, body });
            list.again();
          }}
        />
      )}
      {asking?.what === 'leave' && (
        <Confirm
          title={t.account.disconnect_of(asking.app.app_name)}
          action={t.account.disconnect}
          danger
          onClose={() => ask(null)}
          run={async () => {
            await call('delete', '/api/oauth/connected-apps/{app_id}', { path });
            list.again();
          }}>
          <p>{t.account.disconnect_text}</p>
        </Confirm>
      )}
    </Card>
  );
}

export function AccountScreen() {
  // Counts the changes of the password, after which the form is empty and the sessions are read again.
  const [passwords, change] = useState(0);
  const [ending_others, end_others] = useState(false);
  const offer_to_end_others = () =>
    other_sessions().then(
      (others) => end_others(others.length > 0),
      () => {},
    );
  return (
    <Page title={t.menu.account}>
      <div class="columns">
        <div class="stack wide">
          <Sessions key={passwords} />
          <Devices key={`devices ${passwords}`} />
          <Connected />
          <Tokens />
          <OwnAudit />
        </div>
        <div class="stack wide">
          <Profile />
          <Password key={`password ${passwords}`} onChange={() => change(passwords + 1)} />
          <SecondFactor onChange={() => void offer_to_end_others()} />
          <Passkeys />
          <End />
        </div>
      </div>
      {ending_others && (
        <EndOthers
          onClose={() => {
            end_others(false);
            change(passwords + 1);
          }}
        />
      )}
    </Page>
  );
}
