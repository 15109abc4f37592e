// What was done with a deployment: a line for each change, with its difference, its result and who did it.
import { useMemo, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { call } from '../api';
import { Read } from '../components/table';
import { Button, Card, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type Deployment, may_change, news, put } from '../data';
import { duration } from '../format';
import { t } from '../messages';
import { me } from '../session';
import { ConfirmCharge } from './deployment_price';
import { type Difference, type Entry, type Line, lines_of, rollouts_in, short_image, undone_since } from './rollouts';

type DomainState = keyof typeof t.domain.states;
const marks: Record<Entry['status'], string> = { started: 'busy', succeeded: 'good', failed: 'bad', info: '' };
const newest_lines = 6;

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

export function title_of({ entry, details, is_rollout }: Line): string {
  const { kind = '', state, image } = details;
  if (is_rollout) return t.history.rollout(kind, image ? short_image(image) : '');
  if (kind === 'scale') return t.history.scaled(String(details.from), String(details.to));
  if (entry.action !== 'deploy') return t.history.action(entry.action);
  if (state) return t.history.domain(t.domain.states[state as DomainState]);
  if (entry.status === 'failed') return t.history.broke;
  return details.fields ? t.history.changed : t.history.recovered;
}

const shown = (field: string, value: unknown) => {
  if (value === null || value === undefined || value === '' || value === '[]') return t.history.nothing;
  return field === 'image' ? short_image(String(value)) : String(value);
};
const full = (value: unknown) => (typeof value === 'string' ? value : undefined);

// One difference: what a field was and is, or which variables came, changed and went.
function One({ of }: { of: Difference }) {
  const name = t.history.field(of.field);
  if (of.added || of.changed || of.removed)
    return (
      <span class="difference">
        <span class="faint">{name}</span>{' '}
        {(of.added ?? []).map((one) => (
          <ins key={`+${one}`}>{`+${one}`}</ins>
        ))}
        {(of.changed ?? []).map((one) => (
          <span class="edited" key={`~${one}`}>{`~${one}`}</span>
        ))}
        {(of.removed ?? []).map((one) => (
          <del key={`-${one}`}>{`−${one}`}</del>
        ))}
      </span>
    );
  if (of.from === undefined && of.to === undefined) return <span class="difference faint">{name}</span>;
  return (
    <span class="difference">
      <span class="faint">{name}</span> <del title={full(of.from)}>{shown(of.field, of.from)}</del>{' '}
      <span aria-hidden="true">→</span> <ins title={full(of.to)}>{shown(of.field, of.to)}</ins>
    </span>
  );
}

export function Differences({ of }: { of: Difference[] }) {
  if (of.length === 0) return null;
  return (
    <div class="differences small">
      {of.map((one, index) => (
        <One key={`${one.field}${index}`} of={one} />
      ))}
    </div>
  );
}

const who = (entry: Entry) =>
  entry.initiated_by === me.value!.id ? t.history.you : entry.initiated_by ? t.history.member : t.history.berth;

function why_of({ details, entry }: Line): string {
  const why = details.cause ?? details.reason;
  if (entry.status !== 'failed' || !why) return '';
  return (t.reasons[why as keyof typeof t.reasons] ?? t.reasons.unknown).title;
}

export function HistoryRow({ line, actions }: { line: Line; actions?: preact.ComponentChildren }) {
  const { entry, details, overtaken } = line;
  const why = why_of(line);
  return (
    <li>
      <span class={`badge ${overtaken ? '' : marks[entry.status]}`}>
        {overtaken ? t.history.overtaken : t.history.states[entry.status]}
      </span>
      <div class="grow">
        <div title={details.image}>
          {title_of(line)}
          {details.domain && <span class="faint"> {details.domain}</span>}
        </div>
        <Differences of={details.changes ?? (details.fields ?? []).map((field) => ({ field }))} />
        {why && <div class="small minus">{why}</div>}
      </div>
      <span class="small faint">
        {who(entry)} · <Time at={entry.inserted_at} />
        {details.duration_seconds !== undefined && ` · ${duration(details.duration_seconds)}`}
      </span>
      {actions}
    </li>
  );
}

export function Activity({ deployment, entries }: { deployment: Deployment; entries: ReturnType<typeof useEntries> }) {
  return (
    <Card
      title={t.history.latest}
      bare
      actions={
        <Link href={`/deployments/${deployment.id}/history`} class="small">
          {t.history.all}
        </Link>
      }>
      <Read of={entries}>
        {(value) => (
          <ul class="list events">
            {lines_of(value)
              .slice(0, newest_lines)
              .map((line) => (
                <HistoryRow key={line.entry.id} line={line} />
              ))}
          </ul>
        )}
      </Read>
    </Card>
  );
}

// Asks before a rollback, and says what it leads to: which image, from when, and what will be different.
export function Rollback({
  deployment,
  to,
  undone,
  onClose,
  onDone,
}: {
  deployment: Deployment;
  to: Line;
  undone: Difference[];
  onClose: () => void;
  onDone?: () => void;
}) {
  const image = to.details.image ?? '';
  return (
    <ConfirmCharge
      deployment={deployment}
      title={t.history.back_title(short_image(image))}
      action={t.history.back_to(short_image(image))}
      onClose={onClose}
      run={async () => {
        const answer = await call('post', '/api/deploy/apps/{id}/rollback', {
          path: { id: deployment.id },
          app: deployment.app_id,
          body: { to_log_id: to.entry.id },
        });
        put(answer.deployment);
        onDone?.();
      }}>
      <dl class="facts">
        <dt>{t.history.from}</dt>
        <dd>
          <code>{deployment.container_image}</code>
        </dd>
        <dt>{t.history.to}</dt>
        <dd>
          <code>{image}</code>
          <div class="small faint">
            {t.history.ran} <Time at={to.entry.inserted_at} /> · {who(to.entry)}
          </div>
        </dd>
        {undone.length > 0 && (
          <>
            <dt>{t.history.undone}</dt>
            <dd>
              <Differences of={undone} />
            </dd>
          </>
        )}
      </dl>
      <p class="soft">{t.history.back_text}</p>
    </ConfirmCharge>
  );
}

export function HistoryTab({
  deployment,
  entries,
}: {
  deployment: Deployment;
  entries: ReturnType<typeof useEntries>;
}) {
  const [to, ask] = useState<Line | null>(null);
  const lines = useMemo(() => lines_of(entries.value ?? []), [entries.value]);
  const { targets } = useMemo(() => rollouts_in(entries.value ?? []), [entries.value]);
  const can_go_back = (line: Line) => targets.some((one) => one.entry.id === line.entry.id);
  return (
    <Card title={t.history.heading} bare>
      <Read of={entries}>
        {() => (
          <ul class="list events">
            {lines.map((line) => (
              <HistoryRow
                key={line.entry.id}
                line={line}
                actions={
                  may_change(deployment) &&
                  can_go_back(line) && (
                    <Button slim icon="back" onClick={() => ask(line)}>
                      {t.history.back_to_this}
                    </Button>
                  )
                }
              />
            ))}
          </ul>
        )}
      </Read>
      {to && (
        <Rollback
          deployment={deployment}
          to={to}
          undone={undone_since(
            lines.filter((line) => line.is_rollout),
            to,
          )}
          onClose={() => ask(null)}
          onDone={entries.again}
        />
      )}
    </Card>
  );
}
