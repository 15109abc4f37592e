// What can be changed about a deployment: what it runs, the tier; and deleting it.
import { type Body, call } from '../api';
import { AskTier } from '../components/ask_tier';
import { Form } from '../components/form';
import { note } from '../components/notes';
import { Button, Card } from '../components/ui';
import { useReading } from '../components/use';
import { app_of, change, type Deployment } from '../data';
import { t } from '../messages';
import { container_fields, container_values, tier_field } from './deployment_fields';

export function SettingsTab({ deployment, onDelete }: { deployment: Deployment; onDelete: () => void }) {
  const free = useReading(
    () => call('get', '/api/deploy/sandbox-status', { app: deployment.app_id }),
    [deployment.app_id],
  );
  async function save(body: Body<'patch', '/api/deploy/apps/{id}'>) {
    await change(deployment, body);
    note(t.settings.rolling);
  }
  const [image, ...others] = container_fields;
  const app = app_of(deployment.app_id);
  return (
    <div class="stack wide">
      <Card title={t.settings.container}>
        <Form
          fields={[{ ...image!, hint: t.settings.image_hint }, ...others]}
          values={container_values(deployment)}
          changes
          action={t.settings.save}
          run={save}
        />
      </Card>
      <Card title={t.deployment.tier}>
        <Form
          fields={[{ ...tier_field(free.value, app, deployment.tier ?? ''), hint: t.settings.tier_hint }]}
          values={{ tier: deployment.tier }}
          changes
          action={t.settings.change_tier}
          run={save}
        />
        {app && <AskTier app={app} />}
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
