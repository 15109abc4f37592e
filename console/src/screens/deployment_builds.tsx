// The images that were built from source for a deployment, each with its log.
import { useEffect, useState } from 'preact/hooks';
import { type Answer, call, fill } from '../api';
import { Confirm } from '../components/form';
import { Bones, Button, Card, Empty, Failed, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type Deployment, news } from '../data';
import { duration } from '../format';
import { t } from '../messages';
import { me } from '../session';
import { follow } from '../stream';

type Build = Answer<'get', '/api/deploy/apps/{id}/builds'>['builds'][number];
const marks: Record<Build['status'], string> = {
  queued: 'busy',
  building: 'busy',
  succeeded: 'good',
  failed: 'bad',
  cancelled: '',
};
const is_over = (build: Build) => build.status !== 'queued' && build.status !== 'building';

// The log of a build, followed to its end. It is short enough (1 MiB at most) to be one text.
function BuildLog({ deployment, build, onOver }: { deployment: Deployment; build: Build; onOver: () => void }) {
  const [text, set] = useState('');
  const [refused, refuse] = useState('');
  useEffect(() => {
    set('');
    const url = fill(
      '/api/deploy/apps/{id}/builds/{build_id}/logs',
      { id: deployment.id, build_id: build.id },
      { follow: true },
    );
    const end = follow(
      { kind: 'url', url, app: deployment.app_id, account: me.value!.id },
      {
        onEvents: (events) => {
          const lines = events.filter((event) => event.name !== 'status').map((event) => `${event.data}\n`);
          if (lines.length) set((before) => before + lines.join(''));
          const status = events.findLast((event) => event.name === 'status');
          if (!status || !is_over(JSON.parse(status.data))) return;
          end();
          if (!is_over(build)) onOver();
        },
        onRefused: (error) => refuse(error.message),
      },
    );
    return end;
  }, [deployment.id, build.id]);
  return (
    <pre class="output" role="log" aria-live="off" aria-label={t.builds.log} tabIndex={0}>
      {refused || text || t.builds.waiting}
    </pre>
  );
}

function text_of(build: Build): string {
  const parts = [build.message ?? ''];
  if (build.started_at && build.ended_at)
    parts.push(duration((Date.parse(build.ended_at) - Date.parse(build.started_at)) / 1_000));
  if (build.points) parts.push(t.points(build.points));
  if (build.image_removed_at) parts.push(t.builds.removed);
  return parts.filter(Boolean).join(' · ');
}

function Row({ deployment, build, again }: { deployment: Deployment; build: Build; again: () => void }) {
  const [open, show] = useState(!is_over(build));
  const [asking, ask] = useState(false);
  return (
    <li class="stack tight">
      <div class="row">
        <span class={`badge ${marks[build.status]}`}>{t.builds.states[build.status]}</span>
        <div class="grow">
          <div>{build.image === deployment.container_image ? t.builds.deployed : t.builds.one}</div>
          <div class="small faint">{text_of(build)}</div>
        </div>
        <span class="small faint">
          <Time at={build.inserted_at} />
        </span>
        {!is_over(build) && (
          <Button slim icon="stop" onClick={() => ask(true)}>
            {t.builds.cancel}
          </Button>
        )}
        <Button slim aria-expanded={open} onClick={() => show(!open)}>
          {t.builds.log}
        </Button>
      </div>
      {open && <BuildLog deployment={deployment} build={build} onOver={again} />}
      {asking && (
        <Confirm
          title={t.builds.cancel_title}
          action={t.builds.cancel}
          danger
          onClose={() => ask(false)}
          run={async () => {
            await call('delete', '/api/deploy/builds/{build_id}', {
              path: { build_id: build.id },
              app: deployment.app_id,
            });
            again();
          }}>
          <p>{t.builds.cancel_text}</p>
        </Confirm>
      )}
    </li>
  );
}

export function BuildsTab({ deployment }: { deployment: Deployment }) {
  const { value, error, again } = useReading(
    () => call('get', '/api/deploy/apps/{id}/builds', { path: { id: deployment.id }, app: deployment.app_id }),
    [deployment.id, deployment.container_image, news.value[deployment.id]],
  );
  return (
    <Card title={t.builds.heading} bare={!!value?.builds.length}>
      {error ? (
        <Failed error={error} again={again} />
      ) : !value ? (
        <Bones />
      ) : value.builds.length === 0 ? (
        <Empty icon="deployments" title={t.builds.none} text={value.limits ? t.builds.how : t.builds.how_local} />
      ) : (
        <ul class="list">
          {value.builds.map((build) => (
            <Row key={`${build.id} ${build.status}`} deployment={deployment} build={build} again={again} />
          ))}
        </ul>
      )}
    </Card>
  );
}
