// What can be changed about a deployment: what it runs, the tier; and deleting it.
import { useState } from 'preact/hooks';
import { type Body, call } from '../api';
import { AskTier } from '../components/ask_tier';
import { Form } from '../components/form';
import { note } from '../components/notes';
import { Button, Card } from '../components/ui';
import { useReading } from '../components/use';
import { app_of, change, type Deployment, tiers } from '../data';
import { t } from '../messages';
import { container_fields, container_values, tier_field } from './deployment_fields';
import { changes_number, ConfirmChange, ConfirmNumber, is_free_of_charge, useCostIfUnpaid } from './deployment_price';
import { label_texts, parse_labels } from './deployments_table';

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
  const cost = useCostIfUnpaid(deployment);
  const [moving, move] = useState<string | null>(null); // to the tier with this slug
  // What changes the number of containers, and so the price.
  const [resizing, resize] = useState<Body<'patch', '/api/deploy/apps/{id}'> | null>(null);
  const wanted = tiers.value?.find((one) => one.slug === moving);
  return (
    <div class="stack wide">
      <Card title={t.settings.container}>
        <Form
          fields={[{ ...image!, hint: t.settings.image_hint }, ...others]}
          values={container_values(deployment)}
          changes
          action={t.settings.save}
          cost={() => cost}
          run={async (body) => (changes_number(body) && !is_free_of_charge(deployment) ? resize(body) : save(body))}
        />
        {resizing && (
          <ConfirmNumber
            deployment={deployment}
            change={resizing}
            onClose={() => resize(null)}
            run={() => save(resizing)}
          />
        )}
      </Card>
      <Card title={t.deployment.tier} anchor="tier">
        <Form
          fields={[{ ...tier_field(free.value, app, deployment.tier ?? ''), hint: t.settings.tier_hint }]}
          values={{ tier: deployment.tier }}
          changes
          action={t.settings.change_tier}
          run={async ({ tier }) => move(tier ? String(tier) : null)}
        />
        {wanted && (
          <ConfirmChange
            deployment={deployment}
            change={{ tier: wanted.slug }}
            title={t.settings.tier_title(wanted.name)}
            action={t.settings.change_tier}
            onClose={() => move(null)}
            run={() => save({ tier: wanted.slug })}>
            <p>{t.settings.tier_text}</p>
          </ConfirmChange>
        )}
        {app && <AskTier app={app} />}
      </Card>
      <Card title={t.table.labels}>
        <Form<{ labels: string[] }>
          key={JSON.stringify(deployment.labels)}
          fields={[{ name: 'labels', label: t.table.labels, kind: 'lines', hint: t.settings.labels_hint }]}
          values={{ labels: label_texts(deployment) }}
          changes
          action={t.app.save}
          cost={() => cost}
          run={async ({ labels }) => {
            await change(deployment, { labels: parse_labels(labels ?? []) });
            note(t.app.changed);
          }}
        />
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
