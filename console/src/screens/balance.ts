// What an app has, for the sums that are shown before its points move.
import { ApiError, call } from '../api';
import { useReading, useReturn } from '../components/use';

const today = () => new Date().toISOString().slice(0, 10);

// The app's own scope for its balance isn't given to every app; its owner sees the balance by day in any case.
async function balance_of(app: string): Promise<number | null> {
  try {
    return (await call('get', '/api/external/app/balance', { app })).balance;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
  }
  const { days } = await call('get', '/api/operator/analytics/days', { app, query: { from: today(), to: today() } });
  return days.at(-1)?.balance ?? null;
}

// undefined while it is being read; null if it can't be known or there is no app yet. It is read again when somebody comes back to the tab, who may
// have sent points in another one.
export function useBalance(app: string | undefined): number | null | undefined {
  const balance = useReading(async () => (app ? balance_of(app) : null), [app]);
  useReturn(balance.again);
  return balance.error ? null : balance.done ? balance.value : undefined;
}
