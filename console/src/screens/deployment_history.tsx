// What was done with a deployment: the rollouts, and by whom.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { type Answer, call } from '../api';
import { Confirm } from '../components/form';
import { Bones, Button, Card, Failed, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type Deployment, news, put } from '../data';
import { duration } from '../format';
import { t } from '../messages';
import { me } from '../session';

type DomainState = keyof typeof t.domain.states;
export type Entry = Answer<'get', '/api/deploy/apps/{id}/logs'>['logs'][number];
const marks: Record<Entry['status'], string> = { started: 'busy', succeeded: 'good', failed: 'bad', info: '' };
const newest = 6;

export function useEntries(deployment: Deployment) {
  // An entry is written with each change of the status, of which an event tells.
  return useReading(
    async () =>
      (
        await call('get', '/api/deploy/apps/{id}/logs', { path: { id: deployment.id }, app: deployment.app_id })
      ).logs.reverse(),
    [deployment.id, deployment.status, deployment.reason, news.value[deployment.id] ? deployment.container_image : ''],
  );
}

interface Details {
  generation?: number;
  kind?: string;
  domain?: string;
  state?: DomainState;
  fields?: string[];
  image?: string;
  duration_seconds?: number;
  reason?: string;
}
const details_of = (entry: Entry) => (entry.details ?? {}) as Details;
const generation_of = (entry: Entry) => details_of(entry).generation;
// Changes that need no new container, and the steps of a custom domain, have the same action and no generation.
const is_rollout = (entry: Entry) => entry.action === 'deploy' && generation_of(entry) !== undefined;

// When rollouts ended, in seconds since 1970.
export const rollouts_of = (entries: Entry[]) =>
  entries
    .filter((entry) => is_rollout(entry) && entry.status !== 'started')
    .map((entry) => Date.parse(entry.inserted_at) / 1_000);

// A rollout has an entry for its start and one for its end. The start is left out once there is an end; a start that
// has none was overtaken by the next rollout, unless it is the newest.
function folded(entries: Entry[]): { entry: Entry; overtaken: boolean }[] {
  const ended = new Set(entries.filter((entry) => is_rollout(entry) && entry.status !== 'started').map(generation_of));
  const left = entries.filter(
    (entry) => !is_rollout(entry) || entry.status !== 'started' || !ended.has(generation_of(entry)),
  );
  return left.map((entry, index) => ({ entry, overtaken: entry.status === 'started' && index > 0 }));
}

function title_of(entry: Entry): string {
  const { kind = '', state } = details_of(entry);
  if (entry.action !== 'deploy' || is_rollout(entry)) return t.history.action(entry.action, kind);
  return state ? t.history.domain(t.domain.states[state]) : t.history.changed;
}

function text_of(entry: Entry): string {
  const { image, domain, fields, duration_seconds, reason } = details_of(entry);
  const parts = [image, domain, is_rollout(entry) ? undefined : fields?.join(', ')];
  if (duration_seconds !== undefined) parts.push(duration(duration_seconds));
  if (reason !== undefined) parts.push(t.reason_word(reason));
  return parts.filter(Boolean).join(' · ');
}

function Row({ entry, overtaken, actions }: { entry: Entry; overtaken: boolean; actions?: preact.ComponentChildren }) {
  return (
    <li>
      <span class={`badge ${overtaken ? '' : marks[entry.status]}`}>
        {overtaken ? t.history.overtaken : t.history.states[entry.status]}
      </span>
      <div class="grow">
        <div>{title_of(entry)}</div>
        <div class="small faint cut">{text_of(entry)}</div>
      </div>
      <span class="small faint">
        {entry.initiated_by === me.value!.id ? t.history.you : entry.initiated_by ? t.history.member : t.history.berth}{' '}
        · <Time at={entry.inserted_at} />
      </span>
      {actions}
    </li>
  );
}

export function Activity({
  deployment,
  entries: { value, error, again },
}: {
  deployment: Deployment;
  entries: ReturnType<typeof useEntries>;
}) {
  return (
    <Card
      title={t.history.latest}
      bare
      actions={
        <Link href={`/deployments/${deployment.id}/history`} class="small">
          {t.history.all}
        </Link>
      }>
      {error ? (
        <div class="body">
          <Failed error={error} again={again} />
        </div>
      ) : !value ? (
        <div class="body">
          <Bones />
        </div>
      ) : (
        <ul class="list events">
          {folded(value)
            .slice(0, newest)
            .map((one) => (
              <Row key={one.entry.id} {...one} />
            ))}
        </ul>
      )}
    </Card>
  );
}

export function HistoryTab({ deployment }: { deployment: Deployment }) {
  const { value, error, again } = useEntries(deployment);
  const [to, ask] = useState<Entry | null>(null);
  // The rollouts that ran, except the present one, can be rolled back to.
  const ran = (value ?? []).filter((entry) => entry.status === 'succeeded' && is_rollout(entry));
  const image = (entry: Entry) => details_of(entry).image ?? '';
  return (
    <Card title={t.history.heading} bare>
      {error ? (
        <div class="body">
          <Failed error={error} again={again} />
        </div>
      ) : !value ? (
        <div class="body">
          <Bones />
        </div>
      ) : (
        <ul class="list events">
          {folded(value).map(({ entry, overtaken }) => (
            <Row
              key={entry.id}
              entry={entry}
              overtaken={overtaken}
              actions={
                ran.includes(entry) &&
                entry !== ran[0] && (
                  <Button slim icon="back" onClick={() => ask(entry)}>
                    {t.history.back_to_this}
                  </Button>
                )
              }
            />
          ))}
        </ul>
      )}
      {to && (
        <Confirm
          title={t.history.back_title}
          action={t.deployment.rollback}
          onClose={() => ask(null)}
          run={async () => {
            put(
              (
                await call('post', '/api/deploy/apps/{id}/rollback', {
                  path: { id: deployment.id },
                  app: deployment.app_id,
                  body: { to_log_id: to.id },
                })
              ).deployment,
            );
            again();
          }}>
          <p>{t.history.back_text(image(to))}</p>
        </Confirm>
      )}
    </Card>
  );
}
