// The images that were built from source for a deployment, each with its log.
import { useState } from 'preact/hooks';
import { type Answer, call, fill } from '../api';
import { FollowedText } from '../components/followed_text';
import { Confirm } from '../components/form';
import { Bones, Button, Card, Empty, Failed, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type Deployment, may_change, news } from '../data';
import { duration } from '../format';
import { t } from '../messages';

type Build = Answer<'get', '/api/deploy/apps/{id}/builds'>['builds'][number];
const marks: Record<Build['status'], string> = {
  queued: 'busy',
  building: 'busy',
  succeeded: 'good',
  failed: 'bad',
  cancelled: '',
};
const is_over = (build: Build) => build.status !== 'queued' && build.status !== 'building';

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
        {!is_over(build) && may_change(deployment) && (
          <Button slim icon="stop" onClick={() => ask(true)}>
            {t.builds.cancel}
          </Button>
        )}
        <Button slim aria-expanded={open} onClick={() => show(!open)}>
          {t.builds.log}
        </Button>
      </div>
      {open && (
        <FollowedText
          url={fill(
            '/api/deploy/apps/{id}/builds/{build_id}/logs',
            { id: deployment.id, build_id: build.id },
            { follow: true },
          )}
          app={deployment.app_id}
          label={t.builds.log}
          empty={t.builds.waiting}
          shown={build.status}
          is_over={is_over}
          onStatus={again}
        />
      )}
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
