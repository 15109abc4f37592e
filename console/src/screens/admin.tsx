// For admins of the platform: what they decide, change and see. Each part has its own address.
import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import { type Answer, call } from '../api';
import { Days } from '../components/days';
import { Form } from '../components/form';
import { note } from '../components/notes';
import { Read } from '../components/table';
import { Banner, Button, Card, Empty, Failed, Page } from '../components/ui';
import { useReading, useSubmit } from '../components/use';
import { number } from '../format';
import { t } from '../messages';
import { may, me } from '../session';
import { Access } from './admin_access';
import { AdminApp, AdminApps } from './admin_apps';
import { Audit } from './admin_audit';
import { AdminDeployment, AdminDeployments } from './admin_deployments';
import { Fleet } from './admin_fleet';
import { Learning, Market, Shop, Tiers } from './admin_lists';
import { PlatformMoney } from './admin_money';
import { Give } from './admin_parts';
import { Inbox } from './admin_requests';
import { AdminUser, AdminUsers } from './admin_users';
import { admin_sections } from './sections';

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
          may('finance') && (
            <Button slim kinds={['main-action']} onClick={() => mint(true)}>
              {t.admin.mint}
            </Button>
          )
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
      <PlatformMoney />
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
      {minting && treasury.value && (
        <Give
          to={{ kind: 'treasury' }}
          name={t.admin.the_treasury}
          balance={treasury.value.balance}
          onClose={() => mint(false)}
          onDone={() => {
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
  requests: Inbox,
  apps: AdminApps,
  deployments: AdminDeployments,
  users: AdminUsers,
  economy: Economy,
  tiers: Tiers,
  market: Market,
  shop: Shop,
  learning: Learning,
  words: Words,
  audit: Audit,
  access: Access,
  fleet: Fleet,
};

// The parts whose things have pages of their own.
const pages: Partial<Record<string, ComponentType<{ id: string }>>> = {
  apps: AdminApp,
  deployments: AdminDeployment,
  users: AdminUser,
};

export function AdminScreen({ part, id }: { part: string; id?: string | undefined }) {
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
  if (!me.value!.second_factor)
    return (
      <Page title={t.admin.heading}>
        <section class="card">
          <Empty icon="key" title={t.admin.need_factor} text={t.admin.need_factor_text}>
            <a class="button main-action" href="/console/account#second-factor">
              {t.admin.set_up}
            </a>
          </Empty>
        </section>
      </Page>
    );
  const One = id ? pages[section.key] : undefined;
  if (One) return <One key={id} id={id!} />;
  return (
    <Page key={section.key} title={section.name} crumbs={[[t.admin.heading, '/admin']]}>
      <Part />
    </Page>
  );
}
