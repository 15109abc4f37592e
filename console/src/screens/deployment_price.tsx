// What starting or changing a deployment takes from its app.
import type { ComponentChildren } from 'preact';
import { type ApiError, type Body, call } from '../api';
import { Confirm } from '../components/form';
import type { Cost } from '../components/sum';
import { Bones, Failed } from '../components/ui';
import { useReading, useReturn } from '../components/use';
import { type Deployment, type Tier, tiers } from '../data';
import { date } from '../format';
import { t } from '../messages';

type Change = Body<'patch', '/api/deploy/apps/{id}'>;

// The fields that say how many containers there are.
interface Numbers {
  replicas?: number | string | undefined; // a text while it is typed
  scale?: { max: number } | null | undefined;
  processes?: Record<string, { replicas?: number | null; scale?: { max: number } | null }> | null | undefined;
}

// How many containers a deployment with these fields may have at once, each of which is paid for.
export function most_containers({ replicas, scale, processes }: Numbers): number {
  const alone = scale?.max ?? (Number(replicas) || 1);
  const all = processes && typeof processes === 'object' ? Object.entries(processes) : [];
  if (all.length === 0) return alone;
  return all.reduce(
    (sum, [name, process]) => sum + (process.scale?.max ?? process.replicas ?? (name === 'web' ? alone : 1)),
    0,
  );
}
export const changes_number = (change: Change) => ['replicas', 'scale', 'processes'].some((name) => name in change);

export function useBilling(deployment: Deployment) {
  const billing = useReading(
    () => call('get', '/api/deploy/apps/{id}/billing', { path: { id: deployment.id }, app: deployment.app_id }),
    [deployment.id, deployment.billing_status, deployment.tier, most_containers(deployment)],
  );
  useReturn(billing.again);
  return billing;
}

// What so many containers cost: all of them for 30 days, and each of them by the hour.
const later_of = (amount: number, from: string, hour: number, containers: number) =>
  [
    amount ? t.sum.each_period(amount, from) : '',
    hour ? (containers > 1 ? t.sum.each_hour_of_each(hour) : t.sum.each_hour(hour)) : '',
    (amount || hour) && containers > 1 ? t.sum.containers(containers) : '',
  ]
    .filter(Boolean)
    .join('; ') || undefined;
export const hour_of = (slug?: string) => tiers.value?.find((tier) => tier.slug === slug)?.points_per_hour ?? 0;
export const is_free_of_charge = (deployment: Deployment) =>
  deployment.billing_status === 'exempt' && !hour_of(deployment.tier);

// What a restart, a rollback or another change takes that keeps the tier: an unpaid period is charged. Nothing for a
// free tier.
function useCost(deployment: Deployment): { cost: Cost | null; error: ApiError | null; again: () => void } {
  const { value, error, again } = useBilling(deployment);
  if (!value || is_free_of_charge(deployment)) return { cost: null, error, again };
  const { period, amount, balance, containers } = value;
  return {
    cost: {
      now: period.paid ? 0 : amount,
      later: later_of(amount, date(period.end), hour_of(deployment.tier), containers),
      balance,
      app: deployment.app_id,
    },
    error,
    again,
  };
}

// The cost of a form where nothing else is asked: there only while the present period isn't paid, which any change would
// charge.
export function useCostIfUnpaid(deployment: Deployment): Cost | null {
  const { cost } = useCost(deployment);
  return cost?.now ? cost : null;
}

// Asks before a deployment is started, restarted or rolled back. Shows no sum for a free tier.
export function ConfirmCharge({
  deployment,
  children,
  ...dialog
}: {
  deployment: Deployment;
  title: string;
  children: ComponentChildren;
  action: string;
  run: () => Promise<void>;
  onClose: () => void;
}) {
  const { cost, error, again } = useCost(deployment);
  const is_free = is_free_of_charge(deployment);
  return (
    <Confirm {...dialog} disabled={!is_free && !cost} cost={() => cost}>
      {children}
      {!is_free && error && <Failed error={error} again={again} />}
      {!is_free && !error && !cost && <Bones />}
    </Confirm>
  );
}

// Asks before the tier or the number of containers is changed. The sum is berthd's, which carries the change out and undoes
// it again.
export function ConfirmChange({
  deployment,
  change,
  title,
  action,
  children,
  run,
  onClose,
}: {
  deployment: Deployment;
  change: Change;
  title: string;
  action: string;
  children: ComponentChildren;
  run: () => Promise<void>;
  onClose: () => void;
}) {
  const billing = useBilling(deployment);
  const trial = useReading(
    () =>
      call('post', '/api/deploy/dry-run', {
        app: deployment.app_id,
        body: { operations: [{ id: deployment.id, change }] },
      }).then(({ operations }) => operations[0]!),
    [deployment.id, JSON.stringify(change)],
  );
  const error = billing.error ?? trial.error;
  const slug = change.tier ?? deployment.tier;
  const tier: Tier | undefined = tiers.value?.find((one) => one.slug === slug);
  const containers = trial.value?.containers ?? most_containers({ ...deployment, ...change });
  const price = (tier?.monthly_cost_points ?? 0) * containers;
  const refusal = trial.value?.refusal;
  const wants_points = refusal?.code === 'insufficient_balance';
  const cost: Cost | null = billing.value &&
    trial.value && {
      now: refusal && !wants_points ? null : trial.value.points,
      later: later_of(price, date(billing.value.period.end), tier?.points_per_hour ?? 0, containers),
      balance: billing.value.balance,
      app: deployment.app_id,
    };
  return (
    <Confirm
      title={title}
      action={action}
      disabled={!!refusal || !!error || !cost}
      cost={() => (error ? null : cost)}
      onClose={onClose}
      run={run}>
      {children}
      {error ? <Failed error={error} again={() => (billing.again(), trial.again())} /> : !cost && <Bones />}
      {refusal && !wants_points && (
        <p class="wrong" role="alert">
          {t.errors.field(refusal.message)}
        </p>
      )}
    </Confirm>
  );
}

// Asks before the number of containers of a deployment that isn't free is changed.
export function ConfirmNumber(asked: {
  deployment: Deployment;
  change: Change;
  run: () => Promise<void>;
  onClose: () => void;
}) {
  return (
    <ConfirmChange {...asked} title={t.settings.number_title} action={t.settings.save}>
      <p>{t.settings.number_text}</p>
    </ConfirmChange>
  );
}
