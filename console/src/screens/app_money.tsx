// An app's money: where its points come from and where they go, how long they last, and how its owner sends it more.
import { useState } from 'preact/hooks';
import { type Body, call } from '../api';
import { type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Sum, whole } from '../components/sum';
import { Pages, Read, Table } from '../components/table';
import { Banner, Button, Card, Empty, Time } from '../components/ui';
import { useReading } from '../components/use';
import type { App } from '../data';
import { date, number, signed } from '../format';
import { t } from '../messages';
import { may } from '../roles';
import { reload_me } from '../session';
import { UsersRefunds } from './refund_requests';

const window_days = 30;
const page_size = 20;

type TopUp = Body<'post', '/api/points/top-up'>;
const top_up_fields: FieldOf<TopUp>[] = [
  { name: 'amount', label: t.points_screen.amount, kind: 'number', required: true },
  { name: 'description', label: t.points_screen.why, most: 200 },
];

// A name and a figure each.
export function Figures({ of }: { of: readonly (readonly [string, string])[] }) {
  return (
    <div class="body figures large">
      {of.map(([name, figure]) => (
        <div class="figure" key={name}>
          <span class="small faint">{name}</span>
          <span class="value">{figure}</span>
        </div>
      ))}
    </div>
  );
}

// What moved on an account, by what it was for.
export function Kinds({ of }: { of: { kind: string; movements: number; in: number; out: number }[] }) {
  return (
    <Table
      label={t.money.kinds}
      columns={[
        t.points_screen.what,
        { name: t.money.movements, end: true },
        { name: t.points_screen.in, end: true },
        { name: t.points_screen.out, end: true },
      ]}>
      {of.map((one) => (
        <tr key={one.kind}>
          <td>{t.kind(one.kind)}</td>
          <td class="end number">{number(one.movements)}</td>
          <td class="end number">{number(one.in)}</td>
          <td class="end number">{number(one.out)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Movements({ app, round }: { app: App; round: number }) {
  const [page, turn] = useState(1);
  const history = useReading(
    () => call('get', '/api/operator/money/history', { app: app.id, query: { page, page_size } }),
    [app.id, page, round],
  );
  return (
    <Card title={t.points_screen.history} bare>
      <Read of={history}>
        {(value) =>
          value.entries.length === 0 ? (
            <Empty icon="points" title={t.points_screen.none} text={t.money.none_text} />
          ) : (
            <>
              <Table
                label={t.points_screen.history}
                columns={[
                  t.points_screen.what,
                  t.points_screen.with,
                  t.points_screen.when,
                  { name: t.points_screen.unit, end: true },
                ]}>
                {value.entries.map((entry) => (
                  <tr key={entry.id + entry.amount}>
                    <td>
                      {t.kind(entry.kind)}
                      {entry.description && <div class="small faint break">{entry.description}</div>}
                    </td>
                    <td class="soft">{entry.counterparty?.name ?? t.kind(entry.counterparty?.kind ?? '')}</td>
                    <td class="soft">
                      <Time at={entry.inserted_at} />
                    </td>
                    <td class={`end number ${entry.amount > 0 ? 'plus' : ''}`}>{signed(entry.amount)}</td>
                  </tr>
                ))}
              </Table>
              <Pages of={value} turn={turn} />
            </>
          )
        }
      </Read>
    </Card>
  );
}

export function AppMoney({ app, onMoved }: { app: App; onMoved: () => void }) {
  const [sending, send] = useState(false);
  const [round, next] = useState(0); // counts what was moved, after which everything is read again
  const money = useReading(
    () => call('get', '/api/operator/money', { app: app.id, query: { days: window_days } }),
    [app.id, round],
  );
  const own = useReading(() => call('get', '/api/points/balance'), [round]);
  const again = () => {
    next(round + 1);
    onMoved();
    void reload_me();
  };
  const fails = money.value?.first_unpaid_charge;
  return (
    <>
      {fails && (
        <Banner kind="warn" title={t.money.fails(fails.name, date(fails.at))}>
          <p>{t.money.fails_text}</p>
        </Banner>
      )}
      <Card
        title={t.money.heading(window_days)}
        bare
        actions={
          may(app, 'billing') && (
            <Button slim kinds={['main-action']} icon="send" onClick={() => send(true)}>
              {t.money.top_up}
            </Button>
          )
        }>
        <Read of={money}>
          {(value) => (
            <>
              <Figures
                of={[
                  [t.points_screen.balance, number(value.balance)],
                  [t.money.held, number(value.held)],
                  [t.money.earned, number(value.earned)],
                  [t.money.spent, number(value.spent)],
                  [
                    t.money.days_left,
                    value.forecast.days_left === null ? t.money.no_end : number(value.forecast.days_left),
                  ],
                  [
                    t.money.next_charge,
                    value.next_charge
                      ? t.money.charge(value.next_charge.amount, date(value.next_charge.at))
                      : t.billing.none,
                  ],
                ]}
              />
              {value.kinds.length > 0 && <Kinds of={value.kinds} />}
            </>
          )}
        </Read>
      </Card>
      <UsersRefunds app={app} balance={money.value?.balance} onDone={again} />
      <Movements app={app} round={round} />
      {sending && (
        <FormDialog<TopUp>
          title={t.money.top_up_title(app.app_name)}
          fields={top_up_fields}
          action={t.money.top_up}
          onClose={() => send(false)}
          below={({ amount }) => <Sum now={-whole(amount)} balance={money.value?.balance} />}
          cost={({ amount }) => ({ now: whole(amount), balance: own.value?.points, whose: t.sum.you_have })}
          run={async (body, once) => {
            await call('post', '/api/points/top-up', { once, body: { ...body, app_id: app.id } });
            note(t.money.topped_up(t.points(body.amount), app.app_name));
            again();
          }}
        />
      )}
    </>
  );
}
