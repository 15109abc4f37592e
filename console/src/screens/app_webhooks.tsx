// An app's webhooks: where its events are posted, which of them, and how the deliveries went.
import { useState } from 'preact/hooks';
import { type Answer, type Body, call } from '../api';
import { Confirm, type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Read, Pages, Table } from '../components/table';
import { Banner, Button, Card, Copy, Dialog, Empty, Menu, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type App, news } from '../data';
import { t } from '../messages';
import { may } from '../roles';

type Webhook = Answer<'get', '/api/operator/apps/{id}/webhooks'>['webhooks'][number];
type Delivery = Answer<'get', '/api/operator/apps/{id}/webhooks/{webhook_id}/deliveries'>['deliveries'][number];
type Creation = Body<'post', '/api/operator/apps/{id}/webhooks'>;
const most_webhooks = 10; // of an app
const page_size = 20;
const marks: Record<Delivery['status'], string> = { waiting: 'busy', delivered: 'good', failed: 'bad' };

const fields: FieldOf<Creation>[] = [
  {
    name: 'url',
    label: t.webhooks.url,
    hint: t.webhooks.url_hint,
    mono: true,
    placeholder: 'https://www.example.com/berth',
  },
  {
    name: 'events',
    label: t.webhooks.events,
    kind: 'many',
    values_shown: true,
    choices: Object.entries(t.webhooks.types),
  },
];

function Deliveries({ app, webhook, sent }: { app: App; webhook: Webhook; sent: number }) {
  const [page, turn] = useState(1);
  const list = useReading(
    () =>
      call('get', '/api/operator/apps/{id}/webhooks/{webhook_id}/deliveries', {
        path: { id: app.id, webhook_id: webhook.id },
        query: { page, page_size },
      }),
    [webhook.id, page, sent, news.value[app.id]],
  );
  return (
    <Read of={list}>
      {(value) =>
        value.deliveries.length === 0 ? (
          <p class="body soft">{t.webhooks.no_deliveries}</p>
        ) : (
          <>
            <div class="body row apart">
              <span class="small faint">{t.webhooks.kept}</span>
              <Button slim icon="restart" onClick={list.again}>
                {t.webhooks.look_again}
              </Button>
            </div>
            <Table
              label={t.webhooks.deliveries}
              columns={[
                t.webhooks.state,
                t.webhooks.event,
                t.points_screen.when,
                { name: t.webhooks.attempts, end: true },
                t.webhooks.answer,
              ]}>
              {value.deliveries.map((delivery) => (
                <tr key={delivery.id}>
                  <td>
                    <span class={`badge ${marks[delivery.status]}`}>{t.webhooks.states[delivery.status]}</span>
                  </td>
                  <td>
                    <code>{delivery.type}</code>
                    <div class="small faint break">{delivery.id}</div>
                  </td>
                  <td class="soft">
                    <Time at={delivery.created_at} />
                  </td>
                  <td class="end number">{delivery.attempts}</td>
                  <td>
                    {delivery.response_status ?? (delivery.error ? '' : '–')}
                    {delivery.error && <div class="small break">{t.errors.field(delivery.error)}</div>}
                    {delivery.next_attempt_at && (
                      <div class="small faint">
                        {t.webhooks.next} <Time at={delivery.next_attempt_at} />
                      </div>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
            <Pages of={value} turn={turn} />
          </>
        )
      }
    </Read>
  );
}

function One({
  app,
  webhook,
  again,
  reveal,
}: {
  app: App;
  webhook: Webhook;
  again: () => void;
  reveal: (secret: string) => void;
}) {
  const [asking, ask] = useState<'change' | 'rotate' | 'delete' | null>(null);
  const [open, set_open] = useState(false);
  const [sent, count] = useState(0);
  const path = { id: app.id, webhook_id: webhook.id };
  async function test() {
    await call('post', '/api/operator/apps/{id}/webhooks/{webhook_id}/test', { path }).then(
      () => note(t.webhooks.tested),
      (failure) => note(failure.message),
    );
    set_open(true);
    count(sent + 1);
  }
  return (
    <Card
      title={webhook.url}
      bare
      actions={
        may(app, 'admin') && (
          <div class="row tight">
            <Button slim icon="send" onClick={test}>
              {t.webhooks.test}
            </Button>
            <Menu
              label={t.webhooks.more(webhook.url)}
              items={[
                { name: t.webhooks.change, icon: 'edit', run: () => ask('change') },
                { name: t.app.rotate, icon: 'key', run: () => ask('rotate') },
                { name: t.webhooks.delete, icon: 'trash', danger: true, run: () => ask('delete') },
              ]}
            />
          </div>
        )
      }>
      <div class="body row tight">
        {webhook.events.map((type) => (
          <span class="tag" key={type}>
            {t.webhooks.types[type]}
          </span>
        ))}
      </div>
      <details class="fold" open={open} onToggle={(e) => set_open(e.currentTarget.open)}>
        <summary>{t.webhooks.deliveries}</summary>
        {open && <Deliveries app={app} webhook={webhook} sent={sent} />}
      </details>
      {asking === 'change' && (
        <FormDialog
          title={t.webhooks.change}
          fields={fields}
          values={webhook}
          changes
          action={t.app.save}
          onClose={() => ask(null)}
          run={async (body) => {
            await call('patch', '/api/operator/apps/{id}/webhooks/{webhook_id}', { path, body });
            again();
          }}
        />
      )}
      {asking === 'rotate' && (
        <Confirm
          title={t.app.rotate_title}
          action={t.app.rotate}
          danger
          onClose={() => ask(null)}
          run={async () => {
            reveal(
              (await call('post', '/api/operator/apps/{id}/webhooks/{webhook_id}/rotate-secret', { path })).webhook
                .secret,
            );
          }}>
          <p>{t.webhooks.rotate_text}</p>
        </Confirm>
      )}
      {asking === 'delete' && (
        <Confirm
          title={t.webhooks.delete_title}
          action={t.webhooks.delete}
          danger
          onClose={() => ask(null)}
          run={async () => {
            await call('delete', '/api/operator/apps/{id}/webhooks/{webhook_id}', { path });
            again();
          }}>
          <p class="break">{t.webhooks.delete_text(webhook.url)}</p>
        </Confirm>
      )}
    </Card>
  );
}

// The secret by which a receiver checks what it gets, which is shown once.
export function SigningSecret({ secret, onSaved }: { secret: string; onSaved: () => void }) {
  return (
    <Dialog title={t.webhooks.secret} onClose={onSaved} closable={false}>
      <Banner kind="warn">
        <p>{t.webhooks.once}</p>
      </Banner>
      <Copy text={secret} label={t.webhooks.secret} />
      <div class="actions">
        <Button kinds={['main-action']} onClick={onSaved}>
          {t.app.saved}
        </Button>
      </div>
    </Dialog>
  );
}

export function AppWebhooks({ app }: { app: App }) {
  const list = useReading(
    () =>
      call('get', '/api/operator/apps/{id}/webhooks', { path: { id: app.id }, query: { page_size: most_webhooks } }),
    [app.id],
  );
  const [creating, create] = useState(false);
  const [secret, reveal] = useState<string | null>(null);
  return (
    <div class="stack wide">
      <div class="row apart">
        <p class="soft grow">{t.webhooks.text}</p>
        {may(app, 'admin') && (
          <Button
            kinds={['main-action']}
            icon="plus"
            onClick={() => create(true)}
            disabled={(list.value?.webhooks.length ?? 0) >= most_webhooks}>
            {t.webhooks.create}
          </Button>
        )}
      </div>
      <Read of={list}>
        {(value) =>
          value.webhooks.length === 0 ? (
            <section class="card">
              <Empty icon="send" title={t.webhooks.none} text={t.webhooks.none_text} />
            </section>
          ) : (
            value.webhooks.map((webhook) => (
              <One key={webhook.id} app={app} webhook={webhook} again={list.again} reveal={reveal} />
            ))
          )
        }
      </Read>
      {creating && (
        <FormDialog<Creation>
          title={t.webhooks.create}
          fields={fields}
          values={{ events: ['deployment.status'] }}
          action={t.webhooks.create}
          onClose={() => create(false)}
          run={async (body) => {
            reveal(
              (await call('post', '/api/operator/apps/{id}/webhooks', { path: { id: app.id }, body })).webhook.secret,
            );
            list.again();
          }}
        />
      )}
      {secret && <SigningSecret secret={secret} onSaved={() => reveal(null)} />}
    </div>
  );
}
