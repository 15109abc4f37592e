// What starting or changing a deployment takes from its app.
import { call } from '../api';
import { Sum } from '../components/sum';
import { Bones, Failed } from '../components/ui';
import { useReading } from '../components/use';
import type { Deployment } from '../data';
import { date } from '../format';
import { t } from '../messages';

export const useBilling = (deployment: Deployment) =>
  useReading(
    () => call('get', '/api/deploy/apps/{id}/billing', { path: { id: deployment.id }, app: deployment.app_id }),
    [deployment.id, deployment.billing_status, deployment.tier],
  );

// The sum of a restart, a rollback or another change that keeps the tier: an unpaid period is charged. Shows nothing for
// a free tier.
export function PriceOf({ deployment }: { deployment: Deployment }) {
  const billing = useBilling(deployment);
  if (deployment.billing_status === 'exempt') return null;
  if (billing.error) return <Failed error={billing.error} again={billing.again} />;
  if (!billing.value) return <Bones />;
  const { period, amount, balance } = billing.value;
  return <Sum now={period.paid ? 0 : amount} later={t.sum.each_period(amount, date(period.end))} balance={balance} />;
}

// The same where nothing is asked: shown only while the present period isn't paid, which any change would charge.
export function PriceIfUnpaid({ deployment }: { deployment: Deployment }) {
  const { value } = useBilling(deployment);
  return value && !value.period.paid ? <PriceOf deployment={deployment} /> : null;
}

// The sum of a change of the tier, which berthd reckons by doing it and undoing it again.
export function PriceOfTier({ deployment, tier, price }: { deployment: Deployment; tier: string; price: number }) {
  const billing = useBilling(deployment);
  const trial = useReading(
    () =>
      call('post', '/api/deploy/dry-run', {
        app: deployment.app_id,
        body: { operations: [{ id: deployment.id, change: { tier } }] },
      }).then(({ operations }) => operations[0]!),
    [deployment.id, tier],
  );
  const error = billing.error ?? trial.error;
  if (error) return <Failed error={error} again={() => (billing.again(), trial.again())} />;
  if (!billing.value || !trial.value) return <Bones />;
  const { refusal, points } = trial.value;
  return (
    <>
      <Sum
        now={refusal ? null : points}
        later={price ? t.sum.each_period(price, date(billing.value.period.end)) : undefined}
        balance={billing.value.balance}
      />
      {refusal && (
        <p class="wrong" role="alert">
          {t.errors.field(refusal.message)}
        </p>
      )}
    </>
  );
}
