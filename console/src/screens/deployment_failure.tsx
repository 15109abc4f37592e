// What somebody needs when a rollout or a container has failed: which image serves, which one failed and with which
// changed settings, where it stopped, its last lines, and the ways on.
import { useState } from 'preact/hooks';
import { type Answer, call, fill, send } from '../api';
import { headersFor } from '../begun';
import { explain, is_busy, is_failed_rollout, step_of, steps } from '../components/status';
import { Banner, Button, Card, LinkButton, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type Deployment, may_change, put } from '../data';
import { t } from '../messages';
import { Differences, Rollback } from './deployment_history';
import { ConfirmCharge } from './deployment_price';
import { type Entry, rollouts_in, short_image } from './rollouts';

export type Instance = Answer<'get', '/api/deploy/apps/{id}/instances'>['instances'][number];
const last_lines = 12;

// Read when a rollout begins and when it has ended, and not at each step in between.
export const useInstances = (deployment: Deployment) => {
  const { id, app_id: app, status, reason } = deployment;
  return useReading(
    () => call('get', '/api/deploy/apps/{id}/instances', { path: { id }, app }).then((answer) => answer.instances),
    [id, is_busy(deployment) ? '' : `${status} ${reason}`],
  );
};

// The last lines of the container that fails; empty if it never ran.
function useLastLines(deployment: Deployment, failing: Instance | undefined) {
  return useReading(async () => {
    if (!failing?.has_log) return '';
    const query = { tail: last_lines, instance: failing.name };
    const url = fill('/api/deploy/apps/{id}/container-logs', { id: deployment.id }, query);
    const answer = await send('GET', url, { headers: { Accept: 'text/plain', ...headersFor(deployment.app_id) } });
    return (await answer.text()).trimEnd();
  }, [deployment.id, failing?.name, failing?.has_log, failing?.restarts]);
}

export const log_address = (deployment: Deployment, instance?: string) =>
  `/deployments/${deployment.id}/logs${instance ? `?instance=${encodeURIComponent(instance)}` : ''}`;

export function FailureBanner({
  deployment,
  entries,
  instances,
}: {
  deployment: Deployment;
  entries: Entry[] | null;
  instances: Instance[];
}) {
  const [asking, ask] = useState<'again' | 'back' | null>(null);
  const changes = may_change(deployment);
  const why = explain(deployment)!;
  const serves_on = deployment.status === 'running' && is_failed_rollout(deployment.reason);
  const { newest, serving, previous } = rollouts_in(entries ?? []);
  const failing = instances.find((one) => one.newest && !one.ready);
  const lines = useLastLines(deployment, failing);
  const served = instances.find((one) => !one.newest && one.ready)?.image || serving?.details.image;
  const failed = failing?.image || deployment.container_image;
  // In full only where the short names don't tell the two apart.
  const name_of = served !== failed && short_image(served ?? '') === short_image(failed) ? String : short_image;
  const ended = newest?.entry.status === 'failed' ? newest : null;
  const settings = (ended?.details.changes ?? []).filter((change) => change.field !== 'image');
  const stopped_at = steps[step_of(deployment).at];
  const at = { path: { id: deployment.id }, app: deployment.app_id };
  return (
    <Banner kind={serves_on ? 'warn' : 'bad'} title={why.title}>
      <p>{why.fix}</p>
      <dl class="facts">
        <dt>{t.failure.serves}</dt>
        <dd>
          {!serves_on ? (
            t.failure.nothing_serves
          ) : served ? (
            <code title={served}>{name_of(served)}</code>
          ) : (
            t.failure.older
          )}
        </dd>
        <dt>{t.failure.failed}</dt>
        <dd>
          <code title={failed}>{name_of(failed)}</code>
          {ended && (
            <span class="small soft">
              {' '}
              · <Time at={ended.entry.inserted_at} />
            </span>
          )}
          <Differences of={settings} />
        </dd>
        {stopped_at && (
          <>
            <dt>{t.failure.stopped_at}</dt>
            <dd>
              {t.failure.step(steps.indexOf(stopped_at) + 1, steps.length, t.steps[stopped_at])}
              {failing && failing.restarts > 0 && <span class="soft"> · {t.failure.restarts(failing.restarts)}</span>}
            </dd>
          </>
        )}
      </dl>
      {deployment.message && (
        <pre tabIndex={0} aria-label={t.deployment.words}>
          {deployment.message}
        </pre>
      )}
      {lines.value && (
        <>
          <h3>{t.failure.lines}</h3>
          <pre tabIndex={0} aria-label={t.failure.lines}>
            {lines.value}
          </pre>
        </>
      )}
      <div class="row tight">
        {changes && previous && (
          <Button slim kinds={['main-action']} icon="back" onClick={() => ask('back')}>
            {t.history.back_to(short_image(previous.line.details.image ?? ''))}
          </Button>
        )}
        {changes && (
          <Button slim icon="restart" onClick={() => ask('again')}>
            {t.frame.again}
          </Button>
        )}
        {failing?.has_log && (
          <LinkButton slim href={log_address(deployment, failing.name)}>
            {t.failure.whole_log}
          </LinkButton>
        )}
        {changes && (
          <LinkButton slim href={`/deployments/${deployment.id}/settings`}>
            {t.failure.change}
          </LinkButton>
        )}
      </div>
      {asking === 'back' && previous && (
        <Rollback deployment={deployment} to={previous.line} undone={previous.undone} onClose={() => ask(null)} />
      )}
      {asking === 'again' && (
        <ConfirmCharge
          deployment={deployment}
          title={t.failure.again_title(short_image(failed))}
          action={t.frame.again}
          onClose={() => ask(null)}
          run={async () => {
            put((await call('post', '/api/deploy/apps/{id}/restart', at)).deployment);
          }}>
          <p>{serves_on ? t.failure.again_text : t.deployment.restart_text}</p>
        </ConfirmCharge>
      )}
    </Banner>
  );
}

const mark_of = (one: Instance) => (one.ready ? 'good' : one.state === 'waiting' && !one.reason ? 'busy' : 'bad');

// The containers that are there now, by the image that each runs: during a rollout, and after one that failed, there are
// several.
export function Instances({ deployment, instances }: { deployment: Deployment; instances: Instance[] }) {
  if (instances.length === 0) return null;
  return (
    <Card title={t.instances.heading} bare>
      <ul class="list">
        {instances.map((one) => (
          <li key={one.name}>
            <span class={`badge ${mark_of(one)}`}>
              {one.ready ? t.instances.serves : t.instances.states[one.state]}
            </span>
            <div class="grow">
              <div class="break">
                <code title={one.image}>{short_image(one.image || deployment.container_image)}</code>{' '}
                <span class="tag">{one.newest ? t.instances.newest : t.instances.older}</span>
                {one.process !== 'web' && <span class="tag">{one.process}</span>}
              </div>
              <div class="small faint break">
                {[one.reason, one.restarts > 0 ? t.failure.restarts(one.restarts) : '', one.node]
                  .filter(Boolean)
                  .join(' · ')}
              </div>
            </div>
            {one.inserted_at && (
              <span class="small faint">
                <Time at={one.started_at ?? one.inserted_at} />
              </span>
            )}
            {one.has_log && (
              <LinkButton slim href={log_address(deployment, one.name)}>
                {t.builds.log}
              </LinkButton>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
