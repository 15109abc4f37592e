// An app's points and users: its money, figures, and the balance by day.
import { useState } from 'preact/hooks';
import { call } from '../api';
import { Days } from '../components/days';
import { Read } from '../components/table';
import { Card, LinkButton } from '../components/ui';
import { useReading } from '../components/use';
import { type App, may_deploy } from '../data';
import { number, share } from '../format';
import { t } from '../messages';
import { AppMoney } from './app_money';
import { Budgets } from './budgets';

const window_days = 30;

export function AppPoints({ app }: { app: App }) {
  const [round, next] = useState(0); // counts what was moved
  const figures = useReading(
    () => call('get', '/api/operator/analytics', { app: app.id, query: { window_days } }),
    [app.id],
  );
  return (
    <div class="stack wide">
      <p class="soft">{t.app_points.text}</p>
      <div class="row">
        <LinkButton href={`/apps/${app.id}/statement`}>{t.statement.title}</LinkButton>
      </div>
      <AppMoney app={app} onMoved={() => next(round + 1)} />
      <Card title={t.app_points.figures(window_days)} bare>
        <Read of={figures}>
          {(value) => (
            <div class="body figures large">
              {(
                [
                  [t.app_points.users, number(value.total_users)],
                  [t.app_points.active, number(value.dau)],
                  [t.app_points.retention, share(value.retention_7d)],
                  [t.app_points.spends, number(value.total_spends)],
                  [t.app_points.earnings, number(value.earnings)],
                  [t.app_points.awards, number(value.total_awards)],
                ] as const
              ).map(([name, figure]) => (
                <div class="figure" key={name}>
                  <span class="small faint">{name}</span>
                  <span class="value">{figure}</span>
                </div>
              ))}
            </div>
          )}
        </Read>
      </Card>
      {may_deploy(app) && <Budgets app={app.id} />}
      <Days
        title={t.app_points.balance}
        label={t.points_screen.plot}
        keys={[app.id, round]}
        read={async (from, to) =>
          (await call('get', '/api/operator/analytics/days', { app: app.id, query: { from, to } })).days
        }
        above={(days) => (
          <p class="figure">
            <span class="value">{t.points(days.at(-1)?.balance ?? 0)}</span>
          </p>
        )}
        shown={{
          value: (day) => day.balance,
          columns: [
            [t.points_screen.balance, (day) => day.balance],
            [t.points_screen.in, (day) => day.earned],
            [t.points_screen.out, (day) => day.spent],
            [t.app_points.earnings, (day) => day.earnings],
            [t.app_points.spends, (day) => day.spends],
          ],
        }}
      />
    </div>
  );
}
