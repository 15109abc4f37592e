// What a deployment costs by the hour: what ran, what was charged for it, and its budgets.
import { useState } from 'preact/hooks';
import { type Answer, call, pages } from '../api';
import { Read, Table } from '../components/table';
import { Button, Card, Time } from '../components/ui';
import { useReading } from '../components/use';
import type { Deployment } from '../data';
import { date, day_name, duration, number } from '../format';
import { t } from '../messages';
import { Budgets } from './budgets';

type Usage = Answer<'get', '/api/deploy/apps/{id}/usage'>;

function Figures({ of }: { of: Usage }) {
  const { points_per_hour, next } = of.price;
  return (
    <>
      <div class="figures">
        {(
          [
            [t.usage.price, points_per_hour === null ? '–' : t.points(points_per_hour)],
            ...(of.containers > 1 ? [[t.usage.containers, number(of.containers)] as const] : []),
            [t.usage.accrued, t.points(of.accrued)],
            [t.usage.charged, t.points(of.totals.points)],
            [t.usage.forecast, t.points(of.forecast.points_a_day)],
          ] as const
        ).map(([name, figure]) => (
          <div class="figure" key={name}>
            <span class="small faint">{name}</span>
            <span class="value">{figure}</span>
          </div>
        ))}
      </div>
      {next && <p class="soft">{t.usage.next(next.points_per_hour, date(next.from))}</p>}
      {points_per_hour === null && !next && <p class="soft">{t.usage.no_price}</p>}
    </>
  );
}

function Charges({ of }: { of: Usage['charges'] }) {
  return (
    <Card title={t.usage.charges} bare>
      {of.length === 0 ? (
        <p class="body soft">{t.usage.nothing}</p>
      ) : (
        <Table
          label={t.usage.charges}
          columns={[
            t.usage.day,
            t.usage.process,
            { name: t.usage.time, end: true },
            { name: t.usage.points, end: true },
            { name: t.usage.pending, end: true },
            { name: t.usage.unpaid, end: true },
          ]}>
          {of.map((one) => (
            <tr key={one.date + one.process + one.item}>
              <td>{day_name(one.date)}</td>
              <td>{one.process}</td>
              <td class="end number">{duration(one.seconds)}</td>
              <td class="end number">{number(one.points)}</td>
              <td class="end number">{duration(one.pending_seconds)}</td>
              <td class="end number">{duration(one.unpaid_seconds)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

function Runs({ of, more }: { of: Usage['intervals']; more: (() => void) | null }) {
  return (
    <Card title={t.usage.runs} bare>
      {of.length === 0 ? (
        <p class="body soft">{t.usage.nothing}</p>
      ) : (
        <Table label={t.usage.runs} columns={[t.usage.started, t.usage.ended, { name: t.usage.time, end: true }]}>
          {of.map((one) => (
            <tr key={one.run}>
              <td>
                <Time at={one.started_at} />
              </td>
              <td>
                {one.ended_at ? <Time at={one.ended_at} /> : t.usage.running}
                {one.vanished && <div class="small faint">{t.usage.vanished}</div>}
              </td>
              <td class="end number">{duration(one.seconds)}</td>
            </tr>
          ))}
        </Table>
      )}
      {more && (
        <div class="body">
          <Button slim onClick={more}>
            {t.usage.more}
          </Button>
        </div>
      )}
    </Card>
  );
}

export function UsageTab({ deployment }: { deployment: Deployment }) {
  const at = { path: { id: deployment.id }, app: deployment.app_id };
  const [wanted, want] = useState(1); // pages of runs
  const usage = useReading(async () => {
    let all: Usage | null = null;
    let read = 0;
    for await (const page of pages((query) => call('get', '/api/deploy/apps/{id}/usage', { ...at, query }))) {
      all = all ? { ...page, intervals: [...all.intervals, ...page.intervals] } : page;
      if (++read === wanted) break;
    }
    return all!;
  }, [deployment.id, deployment.status, wanted]);
  return (
    <div class="stack wide">
      <Card title={t.usage.heading}>
        <Read of={usage}>{(value) => <Figures of={value} />}</Read>
      </Card>
      <Budgets app={deployment.app_id} deployment={deployment.id} />
      {usage.value && (
        <>
          <Charges of={usage.value.charges} />
          <Runs of={usage.value.intervals} more={usage.value.next_cursor ? () => want(wanted + 1) : null} />
        </>
      )}
    </div>
  );
}
