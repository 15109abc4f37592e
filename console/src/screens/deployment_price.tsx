// What starting or changing a deployment takes from its app.
import type { ComponentChildren } from 'preact';
import { type ApiError, call } from '../api';
import { Confirm } from '../components/form';
import type { Cost } from '../components/sum';
import { Bones, Failed } from '../components/ui';
import { useReading, useReturn } from '../components/use';
import { type Deployment, type Tier, tiers } from '../data';
import { date } from '../format';
import { t } from '../messages';

export function useBilling(deployment: Deployment) {
  const billing = useReading(
    () => call('get', '/api/deploy/apps/{id}/billing', { path: { id: deployment.id }, app: deployment.app_id }),
    [deployment.id, deployment.billing_status, deployment.tier],
  );
  useReturn(billing.again);
  return billing;
}

// What the tier costs: for 30 days, and by the hour.
const later_of = (amount: number, from: string, hour: number) =>
  [amount ? t.sum.each_period(amount, from) : '', hour ? t.sum.each_hour(hour) : ''].filter(Boolean).join('; ') ||
  undefined;
export const hour_of = (slug?: string) => tiers.value?.find((tier) => tier.slug === slug)?.points_per_hour ?? 0;
const is_free_of_charge = (deployment: Deployment) =>
  deployment.billing_status === 'exempt' && !hour_of(deployment.tier);

// What a restart, a rollback or another change takes that keeps the tier: an unpaid period is charged. Nothing for a
// free tier.
function useCost(deployment: Deployment): { cost: Cost | null; error: ApiError | null; again: () => void } {
  const { value, error, again } = useBilling(deployment);
  if (!value || is_free_of_charge(deployment)) return { cost: null, error, again };
  const { period, amount, balance } = value;
  return {
    cost: {
      now: period.paid ? 0 : amount,
      later: later_of(amount, date(period.end), hour_of(deployment.tier)),
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
    <Confirm {...dialog} cost={() => cost}>
      {children}
      {!is_free && error && <Failed error={error} again={again} />}
      {!is_free && !error && !cost && <Bones />}
    </Confirm>
  );
}

// Asks before the tier is changed. The sum is berthd's, which changes the tier and undoes that again.
export function ConfirmTier({
  deployment,
  tier,
  run,
  onClose,
}: {
  deployment: Deployment;
  tier: Tier;
  run: () => Promise<void>;
  onClose: () => void;
}) {
  const billing = useBilling(deployment);
  const trial = useReading(
    () =>
      call('post', '/api/deploy/dry-run', {
        app: deployment.app_id,
        body: { operations: [{ id: deployment.id, change: { tier: tier.slug } }] },
      }).then(({ operations }) => operations[0]!),
    [deployment.id, tier.slug],
  );
  const error = billing.error ?? trial.error;
  const price = tier.monthly_cost_points ?? 0;
  const refusal = trial.value?.refusal;
  const wants_points = refusal?.code === 'insufficient_balance';
  const cost: Cost | null = billing.value &&
    trial.value && {
      now: refusal && !wants_points ? null : trial.value.points,
      later: later_of(price, date(billing.value.period.end), tier.points_per_hour ?? 0),
      balance: billing.value.balance,
      app: deployment.app_id,
    };
  return (
    <Confirm
      title={t.settings.tier_title(tier.name)}
      action={t.settings.change_tier}
      disabled={!!refusal}
      cost={() => (error ? null : cost)}
      onClose={onClose}
      run={run}>
      <p>{t.settings.tier_text}</p>
      {error ? <Failed error={error} again={() => (billing.again(), trial.again())} /> : !cost && <Bones />}
      {refusal && !wants_points && (
        <p class="wrong" role="alert">
          {t.errors.field(refusal.message)}
        </p>
      )}
    </Confirm>
  );
}
