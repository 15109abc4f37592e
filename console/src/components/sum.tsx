// What moves before somebody says yes: the points that are taken now, those that are taken later, and what is left. A form
// takes it as `cost` (form.tsx), and can't be sent while points are missing.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { t } from '../messages';

// What is typed into a field of points, as far as it is a number.
export const whole = (typed: unknown) => (typeof typed === 'number' && typed > 0 ? typed : 0);

export interface Cost {
  now: number | null; // below 0 for points that come; null while it is unknown
  later?: string | undefined; // in a sentence; nothing is taken later without it
  balance: number | null | undefined; // before; undefined while it is unknown, null if it can't be known
  whose?: string;
  app?: string | undefined; // whose points they are; without it, those of whoever is logged in
}

// How many points are missing, as far as that is known.
export const missing_of = (cost: Cost | null | undefined) =>
  typeof cost?.now === 'number' && typeof cost.balance === 'number' && cost.now > 0
    ? Math.max(0, cost.now - cost.balance)
    : 0;

// Says that points are missing, and where they come from.
export function TooFew({ app, children }: { app?: string | undefined; children?: ComponentChildren }) {
  return (
    <p class="wrong" role="alert">
      {children ?? (app ? t.sum.too_few : t.sum.too_few_yours)}{' '}
      {app && <Link href={`/apps/${app}/points`}>{t.sum.sources}</Link>}
    </p>
  );
}

export function Sum(cost: Cost) {
  const { now, later, balance, whose = t.sum.app_has, app } = cost;
  const after = now === null || balance === null || balance === undefined ? null : balance - now;
  return (
    <>
      <div role="group" aria-label={t.sum.label}>
        <dl class="sum">
          <div>
            <dt class="soft">{now !== null && now < 0 ? t.sum.comes : t.sum.now}</dt>
            <dd class="number">{now === null ? '…' : t.points(Math.abs(now))}</dd>
          </div>
          <div>
            <dt class="soft">{t.sum.later}</dt>
            <dd class="end">{later ?? t.sum.nothing}</dd>
          </div>
          {balance !== null && (
            <>
              <div>
                <dt class="soft">{whose}</dt>
                <dd class="number">{balance === undefined ? '…' : t.points(balance)}</dd>
              </div>
              <div class="total">
                <dt>{t.sum.after}</dt>
                <dd class={`number${after !== null && after < 0 ? ' minus' : ''}`}>
                  {after === null ? '…' : after < 0 ? t.sum.missing(-after) : t.points(after)}
                </dd>
              </div>
            </>
          )}
        </dl>
      </div>
      {missing_of(cost) > 0 && <TooFew app={app} />}
    </>
  );
}
