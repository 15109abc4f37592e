// What can be changed about a deployment: the image, the port, the check, the tier; and deleting it.
import { useState } from 'preact/hooks';
import { call } from '../api';
import { note } from '../components/notes';
import { TierChoice } from '../components/tier_choice';
import { Button, Card, Field } from '../components/ui';
import { useReading, useSubmit } from '../components/use';
import { type Deployment, put } from '../data';
import { t } from '../messages';

export function SettingsTab({ deployment, onDelete }: { deployment: Deployment; onDelete: () => void }) {
  const at = { path: { id: deployment.id }, app: deployment.app_id };
  const [image, set_image] = useState(deployment.container_image);
  const [port, set_port] = useState(String(deployment.port));
  const [health, set_health] = useState(deployment.health_path ?? '');
  const [tier, choose] = useState(deployment.tier ?? '');
  const free = useReading(
    () => call('get', '/api/deploy/sandbox-status', { app: deployment.app_id }),
    [deployment.app_id],
  );
  const container = useSubmit(async () => {
    const body = {
      ...(image.trim() !== deployment.container_image ? { image: image.trim() } : {}),
      ...(port !== String(deployment.port) ? { port: Number(port) } : {}),
      ...(health !== (deployment.health_path ?? '') ? { health_path: health || null } : {}),
    };
    put((await call('patch', '/api/deploy/apps/{id}', { ...at, body })).deployment);
    note(t.settings.rolling);
  });
  const size = useSubmit(async () => {
    put((await call('patch', '/api/deploy/apps/{id}', { ...at, body: { tier } })).deployment);
    note(t.settings.rolling);
  });
  const same =
    image.trim() === deployment.container_image &&
    port === String(deployment.port) &&
    health === (deployment.health_path ?? '');
  const stray =
    container.error &&
    !['image', 'port', 'health_path'].some((field) => container.wrong(field)) &&
    container.error.code !== 'unsupported_registry';
  return (
    <div class="stack wide">
      <Card title={t.settings.container}>
        <form class="stack" onSubmit={container.submit} noValidate>
          <Field
            label={t.create.image}
            hint={t.settings.image_hint}
            mono
            wrong={
              container.wrong('image') ??
              (container.error?.code === 'unsupported_registry' ? [container.error.message] : undefined)
            }>
            {(field) => (
              <input
                {...field}
                autocomplete="off"
                spellcheck={false}
                value={image}
                onInput={(e) => set_image(e.currentTarget.value)}
              />
            )}
          </Field>
          <div class="two">
            <Field label={t.create.port} wrong={container.wrong('port')}>
              {(field) => (
                <input
                  {...field}
                  inputMode="numeric"
                  autocomplete="off"
                  value={port}
                  onInput={(e) => set_port(e.currentTarget.value)}
                />
              )}
            </Field>
            <Field label={t.create.health} hint={t.create.health_hint} wrong={container.wrong('health_path')} mono>
              {(field) => (
                <input
                  {...field}
                  autocomplete="off"
                  placeholder="/health"
                  value={health}
                  onInput={(e) => set_health(e.currentTarget.value)}
                />
              )}
            </Field>
          </div>
          {stray && (
            <p class="wrong" role="alert">
              {container.error!.message}
            </p>
          )}
          <div>
            <Button type="submit" kinds={['main-action']} busy={container.busy} disabled={same}>
              {t.settings.save}
            </Button>
          </div>
        </form>
      </Card>
      <Card title={t.deployment.tier}>
        <form class="stack" onSubmit={size.submit}>
          <TierChoice value={tier} onChange={choose} free={free.value} />
          <p class="small faint">{t.settings.tier_hint}</p>
          {size.error && (
            <p class="wrong" role="alert">
              {size.error.message}
            </p>
          )}
          <div>
            <Button type="submit" busy={size.busy} disabled={tier === deployment.tier}>
              {t.settings.change_tier}
            </Button>
          </div>
        </form>
      </Card>
      <Card title={t.settings.end}>
        <div class="row apart">
          <p class="soft">{t.deployment.delete_text}</p>
          <Button kinds={['danger']} icon="trash" onClick={onDelete}>
            {t.deployment.delete}
          </Button>
        </div>
      </Card>
    </div>
  );
}
