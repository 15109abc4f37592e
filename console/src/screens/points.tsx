// The account's points: the balance, where they came from and where they went.
import { useState } from 'preact/hooks';
import { type Body, call } from '../api';
import { type FieldOf, Filter, FormDialog } from '../components/form';
import { LazyOwnRefunds } from '../components/lazy';
import { note } from '../components/notes';
import { Days } from '../components/days';
import { SaveReceipt } from '../components/receipt';
import { whole } from '../components/sum';
import { Pages, Read, Table } from '../components/table';
import { Button, Card, Copy, Empty, LinkButton, Page, Time } from '../components/ui';
import { useReading, useReturn } from '../components/use';
import { number, signed } from '../format';
import { t } from '../messages';
import { me, reload_me } from '../session';

const page_size = 20;
const newest_entries = 100; // whose kinds can be chosen
const said_by_kind = new Set(['signup_bonus', 'referral_reward']); // berth's description says no more, in English

const send_fields: FieldOf<Body<'post', '/api/points/transfer'>>[] = [
  { name: 'to_username', label: t.points_screen.to, required: true },
  { name: 'amount', label: t.points_screen.amount, kind: 'number', required: true },
  { name: 'description', label: t.points_screen.why, most: 200 },
];

interface Filtered {
  direction: 'in' | 'out';
  kind: string;
  from: string;
  to: string;
}

// How long a spend can be given back, in milliseconds.
const refundable_for = 90 * 86_400_000;
const can_be_asked = (entry: { kind: string; inserted_at: string }) =>
  entry.kind === 'spend' && Date.now() - Date.parse(entry.inserted_at) <= refundable_for;

// The days are the reader's.
const query_of = ({ from, to, ...rest }: Partial<Filtered>) => ({
  ...rest,
  ...(from ? { from: new Date(`${from}T00:00`).toISOString() } : {}),
  ...(to ? { to: new Date(`${to}T23:59:59`).toISOString() } : {}),
});

export function PointsScreen() {
  const [filter, set_filter] = useState<Partial<Filtered>>({});
  const [page, turn] = useState(1);
  const [sending, send] = useState(() => location.search === '?send');
  const [asking, ask] = useState<{ id: string; amount: number } | null>(null);
  const [round, next] = useState(0); // counts what was sent, after which the days are read again
  const balance = useReading(() => call('get', '/api/points/balance'), []);
  useReturn(balance.again);
  const newest = useReading(() => call('get', '/api/points/history', { query: { page_size: newest_entries } }), []);
  const history = useReading(
    () => call('get', '/api/points/history', { query: { ...query_of(filter), page, page_size } }),
    [filter, page],
  );
  const kinds = [...new Set((newest.value?.entries ?? []).map((entry) => entry.kind))].sort();
  const filtered = Object.keys(filter).length > 0;
  const filter_fields: FieldOf<Filtered>[] = [
    {
      name: 'direction',
      label: t.points_screen.direction,
      kind: 'choice',
      choices: [
        ['', t.points_screen.all],
        ['in', t.points_screen.in],
        ['out', t.points_screen.out],
      ],
    },
    {
      name: 'kind',
      label: t.points_screen.kind,
      kind: 'choice',
      choices: [['', t.points_screen.all], ...kinds.map((one) => [one, t.kind(one)] as const)],
    },
    { name: 'from', label: t.points_screen.from, kind: 'day' },
    { name: 'to', label: t.points_screen.until, kind: 'day' },
  ];
  const again = () => {
    balance.again();
    newest.again();
    history.again();
    next(round + 1);
    void reload_me();
  };
  return (
    <Page
      title={t.menu.points}
      actions={
        <>
          <LinkButton href="/points/statement">{t.statement.title}</LinkButton>
          <Button icon="send" onClick={() => send(true)}>
            {t.points_screen.send}
          </Button>
        </>
      }>
      <div class="columns">
        <Days
          title={t.points_screen.balance}
          label={t.points_screen.plot}
          keys={[round]}
          read={async (from, to) => (await call('get', '/api/points/days', { query: { from, to } })).days}
          above={() => (
            <p class="figure">
              <span class="value">
                {balance.value ? (
                  <>
                    {number(balance.value.points)} <small>{t.points_screen.unit}</small>
                  </>
                ) : (
                  '…'
                )}
              </span>
            </p>
          )}
          shown={{
            value: (day) => day.balance,
            columns: [
              [t.points_screen.balance, (day) => day.balance],
              [t.points_screen.in, (day) => day.earned],
              [t.points_screen.out, (day) => day.spent],
            ],
          }}
        />
        <Card title={t.points_screen.earn}>
          <div class="stack">
            <dl class="facts">
              <dt>{t.points_screen.earned}</dt>
              <dd class="number">{t.points(me.value!.stats.total_earned)}</dd>
              <dt>{t.points_screen.spent}</dt>
              <dd class="number">{t.points(me.value!.stats.total_spent)}</dd>
              <dt>{t.points_screen.referrals}</dt>
              <dd class="number">{number(me.value!.stats.direct_referrals)}</dd>
            </dl>
            <p class="soft small">{t.points_screen.referral}</p>
            <Copy text={me.value!.referral_code} label={t.points_screen.code} />
          </div>
        </Card>
      </div>
      <Card title={t.points_screen.history} bare>
        <Filter
          fields={filter_fields}
          onFilter={(now) => {
            set_filter(now);
            turn(1);
          }}
        />
        <Read of={history}>
          {(value) =>
            value.entries.length === 0 ? (
              <Empty
                icon="points"
                title={filtered ? t.points_screen.none_found : t.points_screen.none}
                text={filtered ? t.points_screen.none_found_text : t.points_screen.none_text}
              />
            ) : (
              <>
                <Table
                  label={t.points_screen.history}
                  columns={[
                    t.points_screen.what,
                    t.points_screen.with,
                    t.points_screen.when,
                    { name: t.points_screen.unit, end: true },
                    { name: t.statement.receipt, unseen: true },
                  ]}>
                  {value.entries.map((entry) => (
                    <tr key={entry.id + entry.amount}>
                      <td>
                        {t.kind(entry.kind)}
                        {entry.description && !said_by_kind.has(entry.kind) && (
                          <div class="small faint break">{entry.description}</div>
                        )}
                      </td>
                      <td class="soft">{entry.counterparty?.name ?? t.kind(entry.counterparty?.kind ?? '')}</td>
                      <td class="soft">
                        <Time at={entry.inserted_at} />
                      </td>
                      <td class={`end number ${entry.amount > 0 ? 'plus' : ''}`}>
                        {signed(entry.amount)}
                        {can_be_asked(entry) && (
                          <div>
                            <Button slim onClick={() => ask(entry)}>
                              {t.points_screen.ask_back}
                            </Button>
                          </div>
                        )}
                      </td>
                      <td class="end">
                        <SaveReceipt of={entry.id} />
                      </td>
                    </tr>
                  ))}
                </Table>
                <Pages of={value} turn={turn} />
                <p class="body small faint">
                  {t.statement.receipt_text} <a href="/receipts/verify">{t.statement.check}</a>
                </p>
              </>
            )
          }
        </Read>
      </Card>
      <LazyOwnRefunds asking={asking} onClose={() => ask(null)} round={round} />
      {sending && (
        <FormDialog
          title={t.points_screen.send}
          fields={send_fields}
          action={t.points_screen.send}
          onClose={() => send(false)}
          cost={({ amount }) => ({ now: whole(amount), balance: balance.value?.points, whose: t.sum.you_have })}
          run={async (body, once) => {
            await call('post', '/api/points/transfer', { once, body });
            note(t.points_screen.sent(number(body.amount), body.to_username ?? ''));
            again();
          }}
        />
      )}
    </Page>
  );
}
