// The commands that a deployment has run, each with its output, and its crons.
import { useState } from 'preact/hooks';
import { type Answer, call, fill } from '../api';
import { FollowedText } from '../components/followed_text';
import { Confirm } from '../components/form';
import { note } from '../components/notes';
import { Bones, Button, Card, Empty, Failed, Time } from '../components/ui';
import { useReading, useReturn } from '../components/use';
import { type Deployment, may_change, news, tiers } from '../data';
import { duration } from '../format';
import { t } from '../messages';

type Run = Answer<'get', '/api/deploy/apps/{id}/runs'>['runs'][number];
type Cron = Answer<'get', '/api/deploy/apps/{id}/crons'>['crons'][number];
const marks: Record<Run['status'], string> = {
  pending: 'busy',
  running: 'busy',
  succeeded: 'good',
  failed: 'bad',
  cancelled: '',
};
const is_over = (run: Run) => run.status !== 'pending' && run.status !== 'running';

function text_of(run: Run): string {
  const parts: string[] = [run.kind === 'cron' ? t.runs.cron(run.name ?? '') : t.runs.kinds[run.kind]];
  if (run.reason) parts.push(t.runs.reasons[run.reason]);
  if (run.exit_code !== null && run.exit_code !== 0) parts.push(t.runs.exit_code(run.exit_code));
  if (run.message) parts.push(run.message);
  if (run.started_at && run.finished_at)
    parts.push(duration((Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1_000));
  return parts.join(' · ');
}

// Runs the same once more.
async function repeat(deployment: Deployment, run: Run) {
  const at = { id: deployment.id };
  if (run.kind === 'cron')
    await call('post', '/api/deploy/apps/{id}/crons/{name}/runs', {
      path: { ...at, name: run.name ?? '' },
      app: deployment.app_id,
    });
  else
    await call('post', '/api/deploy/apps/{id}/runs', {
      path: at,
      app: deployment.app_id,
      body: { command: run.command, process: run.process, timeout_seconds: run.timeout_seconds },
    });
}

function Row({ deployment, run, again }: { deployment: Deployment; run: Run; again: () => void }) {
  const [chosen, choose] = useState<boolean | null>(null);
  const open = chosen ?? !is_over(run);
  const [asking, ask] = useState<'cancel' | 'repeat' | null>(null);
  const price = tiers.value?.find((tier) => tier.slug === deployment.tier)?.points_per_hour ?? 0;
  return (
    <li class="stack tight">
      <div class="row">
        <span class={`badge ${marks[run.status]}`}>{t.runs.states[run.status]}</span>
        <div class="grow">
          <div>
            <code class="break">{run.command.join(' ')}</code>
          </div>
          <div class="small faint">{text_of(run)}</div>
        </div>
        <span class="small faint">
          <Time at={run.inserted_at} />
        </span>
        {!may_change(deployment) ? null : !is_over(run) ? (
          <Button slim icon="stop" onClick={() => ask('cancel')}>
            {t.runs.cancel}
          </Button>
        ) : (
          run.kind !== 'release' && (
            <Button slim icon="restart" onClick={() => ask('repeat')}>
              {t.runs.again}
            </Button>
          )
        )}
        <Button slim aria-expanded={open} onClick={() => choose(!open)}>
          {t.runs.output}
        </Button>
      </div>
      {open && (
        <FollowedText
          key={run.status}
          url={fill(
            '/api/deploy/apps/{id}/runs/{run_id}/logs',
            { id: deployment.id, run_id: run.id },
            { follow: true },
          )}
          app={deployment.app_id}
          label={t.runs.output}
          empty={t.runs.no_output}
          shown={run.status}
          is_over={is_over}
          onStatus={again}
        />
      )}
      {asking === 'cancel' && !is_over(run) && (
        <Confirm
          title={t.runs.cancel_title}
          action={t.runs.cancel}
          danger
          onClose={() => ask(null)}
          run={async () => {
            await call('delete', '/api/deploy/apps/{id}/runs/{run_id}', {
              path: { id: deployment.id, run_id: run.id },
              app: deployment.app_id,
            });
            again();
          }}>
          <p>{run.kind === 'release' ? t.runs.cancel_release : t.runs.cancel_text}</p>
        </Confirm>
      )}
      {asking === 'repeat' && (
        <Confirm
          title={t.runs.again_title}
          action={t.runs.again}
          onClose={() => ask(null)}
          run={async () => {
            await repeat(deployment, run);
            again();
          }}>
          <p>
            <code class="break">{run.command.join(' ')}</code>
          </p>
          {price !== 0 && <p class="sum">{t.runs.price(price)}</p>}
        </Confirm>
      )}
    </li>
  );
}

function CronRow({ deployment, cron, again }: { deployment: Deployment; cron: Cron; again: () => void }) {
  const [asking, ask] = useState(false);
  return (
    <li class="row">
      <div class="grow">
        <div>
          {cron.name} <code class="small">{cron.schedule}</code> <span class="small faint">{cron.zone}</span>
        </div>
        <div class="small faint">
          {cron.next_at ? (
            <>
              {t.runs.next} <Time at={cron.next_at} />
            </>
          ) : (
            t.runs.no_next
          )}
          {cron.last && (
            <>
              {' · '}
              {t.runs.last} {t.runs.states[cron.last.status]}
            </>
          )}
          {cron.skipped && (
            <>
              {' · '}
              {t.runs.skipped[cron.skipped]}
            </>
          )}
        </div>
      </div>
      {may_change(deployment) && (
        <Button slim icon="play" onClick={() => ask(true)}>
          {t.runs.now}
        </Button>
      )}
      {asking && (
        <Confirm
          title={t.runs.now_title(cron.name)}
          action={t.runs.now}
          onClose={() => ask(false)}
          run={async () => {
            await call('post', '/api/deploy/apps/{id}/crons/{name}/runs', {
              path: { id: deployment.id, name: cron.name },
              app: deployment.app_id,
            });
            note(t.runs.started);
            again();
          }}
        />
      )}
    </li>
  );
}

export function RunsTab({ deployment }: { deployment: Deployment }) {
  const at = { path: { id: deployment.id }, app: deployment.app_id };
  const keys = [deployment.id, deployment.status, news.value[deployment.id]];
  const runs = useReading(() => call('get', '/api/deploy/apps/{id}/runs', at), keys);
  const crons = useReading(() => call('get', '/api/deploy/apps/{id}/crons', at), keys);
  const again = () => {
    runs.again();
    crons.again();
  };
  useReturn(runs.again);
  return (
    <>
      {!!crons.value?.crons.length && (
        <Card title={t.runs.crons} bare>
          <ul class="list">
            {crons.value.crons.map((cron) => (
              <CronRow key={cron.name} deployment={deployment} cron={cron} again={again} />
            ))}
          </ul>
        </Card>
      )}
      <Card title={t.runs.heading} bare={!!runs.value?.runs.length}>
        {runs.error ? (
          <Failed error={runs.error} again={runs.again} />
        ) : !runs.value ? (
          <Bones />
        ) : runs.value.runs.length === 0 ? (
          <Empty icon="deployments" title={t.runs.none} text={t.runs.how} />
        ) : (
          <ul class="list">
            {runs.value.runs.map((run) => (
              <Row key={run.id} deployment={deployment} run={run} again={again} />
            ))}
          </ul>
        )}
      </Card>
    </>
  );
}
