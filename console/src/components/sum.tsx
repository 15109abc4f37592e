// What moves before somebody says yes: the points that are taken now, those that are taken later, and what is left.
import { t } from '../messages';

// What is typed into a field of points, as far as it is a number.
export const whole = (typed: unknown) => (typeof typed === 'number' && typed > 0 ? typed : 0);

// `now` is below 0 for points that come; null while it is unknown.
export function Sum({
  now,
  later,
  balance,
  whose = t.sum.app_has,
}: {
  now: number | null;
  later?: string | undefined; // in a sentence; nothing is taken later without it
  balance: number | null | undefined; // before; undefined while it is unknown, null if it can't be known
  whose?: string;
}) {
  const after = now === null || balance === null || balance === undefined ? null : balance - now;
  return (
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
  );
}
