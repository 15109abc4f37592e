// A deployment's status, the steps on the way to it, and what is wrong with a remedy.
import type { Deployment } from '../data';
import { type Reason, t } from '../messages';
import { Banner } from './ui';

const kinds: Record<Deployment['status'], string> = {
  pending: 'busy',
  deploying: 'busy',
  running: 'good',
  stopped: '',
  errored: 'bad',
  destroyed: '',
};

export function StatusBadge({ deployment }: { deployment: Deployment }) {
  const troubled = deployment.status === 'running' && deployment.reason;
  return <span class={`badge ${troubled ? 'warn' : kinds[deployment.status]}`}>{t.status[deployment.status]}</span>;
}

export const is_busy = (deployment: Deployment) => deployment.status === 'pending' || deployment.status === 'deploying';

export const steps = ['created', 'pulling', 'starting', 'probing', 'running'] as const;

// Whether the newest rollout has failed, or hasn't begun because its release command failed.
export const is_failed_rollout = (reason?: string | null) => reason === 'rollout_failed' || reason === 'release_failed';

// Which step a deployment is at, and whether it has failed there.
export function step_of({ status, phase, reason, cause }: Pick<Deployment, 'status' | 'phase' | 'reason' | 'cause'>): {
  at: number;
  failed: boolean;
} {
  if (status === 'running' && !is_failed_rollout(reason)) return { at: steps.length, failed: false };
  const why = cause ?? reason;
  if (status === 'errored' || why) {
    const failed_at: Record<string, number> = { image_pull_failed: 1, image_too_large: 1, port_not_listening: 3 };
    const early = [
      'cluster_refused',
      'cluster_unreachable',
      'cluster_refuses_writes',
      'quota_exceeded',
      'unschedulable',
      'suspended_by_admin',
      'release_failed',
    ];
    return { at: why && early.includes(why) ? 0 : (failed_at[why ?? ''] ?? 2), failed: true };
  }
  return { at: Math.max(1, steps.indexOf(phase as (typeof steps)[number])), failed: false };
}

export function Steps({ deployment }: { deployment: Deployment }) {
  const { at, failed } = step_of(deployment);
  return (
    <ol class="steps" aria-label={t.steps.label}>
      {steps.map((step, index) => {
        const state = index < at ? 'done' : index > at ? '' : failed ? 'failed' : 'now';
        return (
          <li key={step} class={state} aria-current={state === 'now' || state === 'failed' ? 'step' : undefined}>
            <span>
              {t.steps[step]}
              <span class="unseen">{state ? `: ${t.steps.states[state]}` : ''}</span>
            </span>
          </li>
        );
      })}
    </ol>
  );
}

export function explain(deployment: Deployment): { title: string; fix: string } | null {
  if (!deployment.reason) {
    if (deployment.billing_status === 'suspended') return t.unpaid;
    return null;
  }
  const own = t.reasons[deployment.reason as Reason] ?? t.reasons.unknown;
  const cause = deployment.cause ? t.reasons[deployment.cause as Reason] : undefined;
  return cause ? { title: `${own.title} ${cause.title}`, fix: cause.fix } : own;
}

// Whether a rollout or the container has failed, so that there is more to say than the reason.
export const has_failed = ({ status, reason }: Deployment) => status === 'errored' || is_failed_rollout(reason);

export function ReasonBanner({ deployment }: { deployment: Deployment }) {
  const why = explain(deployment);
  if (!why) return null;
  return (
    <Banner kind={deployment.status === 'running' ? 'warn' : 'bad'} title={why.title}>
      <p>{why.fix}</p>
      {deployment.message && (
        <pre tabIndex={0} aria-label={t.deployment.words}>
          {deployment.message}
        </pre>
      )}
    </Banner>
  );
}
