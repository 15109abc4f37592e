// How many containers each process of a deployment has, and the forms that change it.
import { useState } from 'preact/hooks';
import { call } from '../api';
import { type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Button, Card } from '../components/ui';
import { useReading } from '../components/use';
import { change, type Deployment, may_change, put, tiers } from '../data';
import { number } from '../format';
import { t } from '../messages';
import type { Instance } from './deployment_failure';
import { ConfirmCharge, ConfirmNumber, is_free_of_charge } from './deployment_price';

const web = 'web';

interface Scale {
  min?: number;
  max: number;
  in_flight: number;
}
// What the server answers of a process; what isn't said of web is what the deployment's own fields say.
interface Process {
  replicas?: number | null;
  scale?: Scale | null;
}
type Processes = Record<string, Process>;
interface Asking {
  name: string;
  what: 'number' | 'scale' | 'restart';
}
type Numbers = { replicas: number } | { scale: Scale };

const processes_of = (deployment: Deployment): Processes => {
  const all = (deployment.processes ?? {}) as Processes;
  return Object.keys(all).length > 0 ? all : { [web]: {} };
};
// Whether the deployment's own fields say how many containers there are.
const says_itself = (deployment: Deployment, name: string) => {
  const { replicas, scale } = processes_of(deployment)[name]!;
  return name === web && replicas == null && scale == null;
};
const scale_of = (deployment: Deployment, name: string): Scale | null =>
  (says_itself(deployment, name) ? (deployment.scale as Scale | null) : processes_of(deployment)[name]!.scale) ?? null;
const wanted_of = (deployment: Deployment, name: string): number => {
  const scale = scale_of(deployment, name);
  if (scale) return deployment.scaled_to ?? scale.min ?? 1;
  return (says_itself(deployment, name) ? deployment.replicas : processes_of(deployment)[name]!.replicas) ?? 1;
};

// The body of a change of one process's number.
function body_of(deployment: Deployment, name: string, numbers: Numbers): Parameters<typeof change>[1] {
  if (says_itself(deployment, name)) return 'scale' in numbers ? numbers : { ...numbers, scale: null };
  const { replicas: _, scale: __, ...others } = processes_of(deployment)[name]!;
  return { processes: { ...processes_of(deployment), [name]: { ...others, ...numbers } } };
}

const number_fields: FieldOf<{ replicas: number }>[] = [
  { name: 'replicas', label: t.scale.replicas, kind: 'number', required: true, hint: t.scale.replicas_hint },
];
const scale_fields: FieldOf<Scale>[] = [
  { name: 'min', label: t.scale.min, kind: 'number', required: true },
  { name: 'max', label: t.scale.max, kind: 'number', required: true, hint: t.scale.max_hint },
  { name: 'in_flight', label: t.scale.in_flight, kind: 'number', required: true, hint: t.scale.in_flight_hint },
];

function Row({
  deployment,
  name,
  ready,
  in_flight,
  ask,
}: {
  deployment: Deployment;
  name: string;
  ready: number;
  in_flight: number | null;
  ask: (what: Asking['what']) => void;
}) {
  const wanted = wanted_of(deployment, name);
  const scale = scale_of(deployment, name);
  const runs = deployment.status !== 'stopped';
  const may_set = may_change(deployment);
  return (
    <li>
      <span class={`badge ${!runs || ready >= wanted ? 'good' : 'warn'}`}>
        {t.scale.ready(number(ready), number(wanted))}
      </span>
      <div class="grow">
        <div class="break">
          <code>{name}</code>
        </div>
        {scale && (
          <div class="small faint">
            {t.scale.by_requests(number(scale.min ?? 1), number(scale.max), number(scale.in_flight))}
            {in_flight !== null && ` · ${t.scale.now(number(in_flight))}`}
          </div>
        )}
      </div>
      {may_set && (
        <Button slim onClick={() => ask('number')}>
          {t.scale.set}
        </Button>
      )}
      {may_set && name === web && (
        <Button slim onClick={() => ask('scale')}>
          {t.scale.scale}
        </Button>
      )}
      {may_set && runs && Object.keys(processes_of(deployment)).length > 1 && (
        <Button slim icon="restart" label={t.scale.restart(name)} onClick={() => ask('restart')} />
      )}
    </li>
  );
}

export function Scaling({ deployment, instances }: { deployment: Deployment; instances: Instance[] }) {
  const [asking, ask] = useState<Asking | null>(null);
  const has_scale = Object.keys(processes_of(deployment)).some((name) => scale_of(deployment, name));
  const { value } = useReading(
    async () =>
      has_scale
        ? call('get', '/api/deploy/apps/{id}/metrics', { path: { id: deployment.id }, app: deployment.app_id })
        : null,
    [deployment.id, deployment.status, has_scale, deployment.scaled_to],
  );
  const tier = tiers.value?.find((one) => one.slug === deployment.tier);
  const most = tier?.max_replicas;
  const price = tier && t.tiers.price(tier.monthly_cost_points ?? 0, tier.points_per_hour ?? 0);
  // What changes the number of containers of a deployment that isn't free, and so its price.
  const [resizing, resize] = useState<ReturnType<typeof body_of> | null>(null);
  const store = async (body: ReturnType<typeof body_of>) => {
    await change(deployment, body);
    note(t.scale.changed);
  };
  const save = async (numbers: Numbers) => {
    const body = body_of(deployment, asking!.name, numbers);
    if (is_free_of_charge(deployment)) await store(body);
    else resize(body);
  };
  const ready_of = (name: string) => instances.filter((one) => one.ready && (one.process ?? web) === name).length;
  return (
    <Card title={t.scale.heading} bare>
      {most !== undefined && <p class="body soft">{t.scale.text(number(most))}</p>}
      {price && <p class="sum">{t.scale.each(price)}</p>}
      <ul class="list">
        {Object.keys(processes_of(deployment)).map((name) => (
          <Row
            key={name}
            deployment={deployment}
            name={name}
            ready={ready_of(name)}
            in_flight={name === web ? (value?.in_flight ?? null) : null}
            ask={(what) => ask({ name, what })}
          />
        ))}
      </ul>
      {asking?.what === 'number' && (
        <FormDialog<{ replicas: number }>
          title={t.scale.set_of(asking.name)}
          action={t.app.save}
          fields={number_fields}
          values={{ replicas: wanted_of(deployment, asking.name) }}
          onClose={() => ask(null)}
          run={({ replicas }) => save({ replicas })}
        />
      )}
      {asking?.what === 'scale' && (
        <FormDialog<Scale>
          title={t.scale.scale_title}
          action={t.app.save}
          fields={scale_fields}
          values={scale_of(deployment, asking.name) ?? { min: 1, max: most ?? 1, in_flight: 20 }}
          onClose={() => ask(null)}
          run={(scale) => save({ scale })}
        />
      )}
      {resizing && (
        <ConfirmNumber
          deployment={deployment}
          change={resizing}
          onClose={() => resize(null)}
          run={() => store(resizing)}
        />
      )}
      {asking?.what === 'restart' && (
        <ConfirmCharge
          deployment={deployment}
          title={t.deployment.restart_title(asking.name)}
          action={t.deployment.restart}
          onClose={() => ask(null)}
          run={async () => {
            const { id, app_id: app } = deployment;
            const body = { process: asking.name };
            put((await call('post', '/api/deploy/apps/{id}/restart', { path: { id }, app, body })).deployment);
          }}>
          <p>{t.deployment.restart_process_text}</p>
        </ConfirmCharge>
      )}
    </Card>
  );
}
