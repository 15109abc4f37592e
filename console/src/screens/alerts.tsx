// Alerts: which events of the person's apps are told to people, by mail or in a chat, and whether the messages arrive.
import { useState } from 'preact/hooks';
import { type Answer, type Body, call } from '../api';
import { Confirm, type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Read } from '../components/table';
import { Banner, Button, Card, Empty, Menu, Page, Time } from '../components/ui';
import { useReading } from '../components/use';
import { apps } from '../data';
import { t } from '../messages';
import { SigningSecret } from './app_webhooks';

type Alert = Answer<'get', '/api/operator/alerts'>['alerts'][number];
type Creation = Body<'post', '/api/operator/alerts'>;
type Channel = Alert['channel'];
const most_alerts = 20; // of an account
const channels = Object.keys(t.alerts.channels) as Channel[];
const usual: Creation['events'] = ['deployment.failed', 'deployment.crashed', 'billing.warning', 'balance.low'];

function target_fields(channel: Channel): FieldOf<Creation>[] {
  if (channel === 'mail') return [];
  if (channel === 'telegram')
    return [
      { name: 'target.bot_token', label: t.alerts.bot_token, hint: t.alerts.bot_token_hint, mono: true },
      { name: 'target.chat_id', label: t.alerts.chat_id, hint: t.alerts.chat_id_hint, mono: true },
    ];
  return [{ name: 'target.url', label: t.webhooks.url, hint: t.alerts.url_hints[channel], mono: true }];
}

const fields_of = (channel: Channel): FieldOf<Creation>[] => [
  { name: 'name', label: t.alerts.name },
  {
    name: 'app_id',
    label: t.app.one,
    kind: 'choice',
    choices: [['', t.alerts.all_apps], ...(apps.value ?? []).map((app) => [app.id, app.app_name] as const)],
  },
  ...target_fields(channel),
  {
    name: 'events',
    label: t.webhooks.events,
    kind: 'many',
    values_shown: true,
    choices: Object.entries(t.alerts.types),
  },
];

function State({ alert }: { alert: Alert }) {
  if (alert.disabled_at)
    return (
      <Banner kind="warn">
        <p>
          {t.alerts.disabled} {alert.last_error && t.errors.field(alert.last_error)}
        </p>
      </Banner>
    );
  return (
    <p class="small faint">
      {alert.last_error ? (
        <span class="wrong">
          {t.alerts.failing} {t.errors.field(alert.last_error)}
        </span>
      ) : alert.last_sent_at ? (
        <>
          {t.alerts.last_sent} <Time at={alert.last_sent_at} />
        </>
      ) : (
        t.alerts.never_sent
      )}
      {alert.waiting > 0 && ` ${t.alerts.waiting(alert.waiting)}`}
    </p>
  );
}

function One({ alert, again }: { alert: Alert; again: () => void }) {
  const [asking, ask] = useState<'change' | 'delete' | null>(null);
  const path = { id: alert.id };
  async function test() {
    await call('post', '/api/operator/alerts/{id}/test', { path }).then(
      () => note(t.alerts.tested),
      (failure) => note(failure.message),
    );
    again();
  }
  const app = apps.value?.find((one) => one.id === alert.app_id);
  return (
    <Card
      title={alert.name}
      actions={
        <div class="row tight">
          <Button slim icon="send" onClick={test}>
            {t.webhooks.test}
          </Button>
          <Menu
            label={t.webhooks.more(alert.name)}
            items={[
              { name: t.alerts.change, icon: 'edit', run: () => ask('change') },
              { name: t.alerts.delete, icon: 'trash', danger: true, run: () => ask('delete') },
            ]}
          />
        </div>
      }>
      <div class="stack">
        <p class="soft break">
          {t.alerts.channels[alert.channel]}
          {alert.target && `, ${alert.target}`}
          {' · '}
          {alert.app_id ? (app?.app_name ?? alert.app_id) : t.alerts.all_apps}
        </p>
        <div class="row tight">
          {alert.events.map((type) => (
            <span class="tag" key={type}>
              {t.alerts.types[type]}
            </span>
          ))}
        </div>
        <State alert={alert} />
      </div>
      {asking === 'change' && (
        <FormDialog<Creation>
          title={t.alerts.change}
          fields={fields_of(alert.channel)}
          values={alert}
          changes
          action={t.app.save}
          onClose={() => ask(null)}
          run={async (body) => {
            await call('patch', '/api/operator/alerts/{id}', { path, body });
            again();
          }}
        />
      )}
      {asking === 'delete' && (
        <Confirm
          title={t.alerts.delete_title}
          action={t.alerts.delete}
          danger
          onClose={() => ask(null)}
          run={async () => {
            await call('delete', '/api/operator/alerts/{id}', { path });
            again();
          }}>
          <p class="break">{t.alerts.delete_text(alert.name)}</p>
        </Confirm>
      )}
    </Card>
  );
}

export function AlertsScreen() {
  const list = useReading(() => call('get', '/api/operator/alerts', { query: { page_size: most_alerts } }), []);
  const [creating, create] = useState<Channel | null>(null);
  const [secret, reveal] = useState<string | null>(null);
  const full = (list.value?.alerts.length ?? 0) >= most_alerts;
  return (
    <Page title={t.menu.alerts}>
      <div class="stack wide">
        <p class="soft">{t.alerts.text}</p>
        <div class="row tight" role="group" aria-label={t.alerts.create}>
          {channels.map((channel) => (
            <Button key={channel} icon="plus" onClick={() => create(channel)} disabled={full}>
              {t.alerts.channels[channel]}
            </Button>
          ))}
        </div>
        <Read of={list}>
          {(value) =>
            value.alerts.length === 0 ? (
              <section class="card">
                <Empty icon="alert" title={t.alerts.none} text={t.alerts.none_text} />
              </section>
            ) : (
              value.alerts.map((alert) => <One key={alert.id} alert={alert} again={list.again} />)
            )
          }
        </Read>
      </div>
      {creating && (
        <FormDialog<Creation>
          title={t.alerts.new_of(t.alerts.channels[creating])}
          fields={fields_of(creating)}
          values={{ name: t.alerts.channels[creating], events: usual }}
          action={t.alerts.create}
          onClose={() => create(null)}
          run={async (body) => {
            const { alert } = await call('post', '/api/operator/alerts', { body: { ...body, channel: creating } });
            if (alert.secret) reveal(alert.secret);
            list.again();
          }}
        />
      )}
      {secret && <SigningSecret secret={secret} onSaved={() => reveal(null)} />}
    </Page>
  );
}
