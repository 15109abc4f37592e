// What starting or changing a deployment takes from its app.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { type ApiError, call } from '../api';
import { Confirm } from '../components/form';
import { Sum } from '../components/sum';
import { Bones, Failed } from '../components/ui';
import { useReading } from '../components/use';
import { type Deployment, type Tier, tiers } from '../data';
import { date } from '../format';
import { t } from '../messages';

export const useBilling = (deployment: Deployment) =>
  useReading(
    () => call('get', '/api/deploy/apps/{id}/billing', { path: { id: deployment.id }, app: deployment.app_id }),
    [deployment.id, deployment.billing_status, deployment.tier],
  );

// What the app pays; `now` is null if that can't be said.
interface Charge {
  now: number | null;
  later?: string | undefined;
  balance: number;
}
// What the tier costs: for 30 days, and by the hour.
const later_of = (amount: number, from: string, hour: number) =>
  [amount ? t.sum.each_period(amount, from) : '', hour ? t.sum.each_hour(hour) : ''].filter(Boolean).join('; ') ||
  undefined;
export const hour_of = (slug?: string) => tiers.value?.find((tier) => tier.slug === slug)?.points_per_hour ?? 0;
const is_short = (charge: Charge | null) => !!charge && charge.now !== null && charge.now > charge.balance;

// The sum, and the way to points where they are too few.
function SumOfCharge({ deployment, charge }: { deployment: Deployment; charge: Charge }) {
  return (
    <>
      <Sum {...charge} />
      {is_short(charge) && (
        <p class="wrong" role="alert">
          {t.sum.too_few} <Link href={`/apps/${deployment.app_id}/points`}>{t.sum.sources}</Link>
        </p>
      )}
    </>
  );
}

// What a restart, a rollback or another change takes that keeps the tier: an unpaid period is charged.
function useCharge(deployment: Deployment): { charge: Charge | null; error: ApiError | null; again: () => void } {
  const { value, error, again } = useBilling(deployment);
  if (!value) return { charge: null, error, again };
  const { period, amount, balance } = value;
  return {
    charge: {
      now: period.paid ? 0 : amount,
      later: later_of(amount, date(period.end), hour_of(deployment.tier)),
      balance,
    },
    error,
    again,
  };
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
  const { charge, error, again } = useCharge(deployment);
  const is_free = deployment.billing_status === 'exempt' && !hour_of(deployment.tier);
  return (
    <Confirm {...dialog} disabled={!is_free && is_short(charge)}>
      {children}
      {is_free ? null : error ? (
        <Failed error={error} again={again} />
      ) : charge ? (
        <SumOfCharge deployment={deployment} charge={charge} />
      ) : (
        <Bones />
      )}
    </Confirm>
  );
}

// The sum where nothing is asked: shown only while the present period isn't paid, which any change would charge.
export function PriceIfUnpaid({ deployment }: { deployment: Deployment }) {
  const { charge } = useCharge(deployment);
  const is_due = deployment.billing_status !== 'exempt' && !!charge?.now;
  return is_due ? <SumOfCharge deployment={deployment} charge={charge} /> : null;
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
  const charge: Charge | null = billing.value &&
    trial.value && {
      now: refusal && !wants_points ? null : trial.value.points,
      later: later_of(price, date(billing.value.period.end), tier.points_per_hour ?? 0),
      balance: billing.value.balance,
    };
  return (
    <Confirm
      title={t.settings.tier_title(tier.name)}
      action={t.settings.change_tier}
      disabled={!!refusal}
      onClose={onClose}
      run={run}>
      <p>{t.settings.tier_text}</p>
      {error ? (
        <Failed error={error} again={() => (billing.again(), trial.again())} />
      ) : charge ? (
        <SumOfCharge deployment={deployment} charge={charge} />
      ) : (
        <Bones />
      )}
      {refusal && !wants_points && (
        <p class="wrong" role="alert">
          {t.errors.field(refusal.message)}
        </p>
      )}
    </Confirm>
  );
}
