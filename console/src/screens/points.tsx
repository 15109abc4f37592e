// The account's points: the balance, where they came from and where they went.
import { useState } from 'preact/hooks';
import { call, newKey } from '../api';
import { note } from '../components/notes';
import { Days } from '../components/days';
import { Pages, Read, Table } from '../components/table';
import { Button, Card, Copy, Dialog, Empty, Field, Page, Time } from '../components/ui';
import { useReading, useSubmit } from '../components/use';
import { number, signed } from '../format';
import { t } from '../messages';
import { me, reload_me } from '../session';

const page_size = 20;
const newest_entries = 100; // whose kinds can be chosen

function Send({ onClose, onSent }: { onClose: () => void; onSent: () => void }) {
  const [to, set_to] = useState('');
  const [amount, set_amount] = useState('');
  const [description, describe] = useState('');
  const [key] = useState(newKey);
  const { busy, error, submit, wrong } = useSubmit(async () => {
    await call('post', '/api/points/transfer', {
      once: key,
      body: { to_username: to.trim(), amount: Number(amount), ...(description ? { description } : {}) },
    });
    note(t.points_screen.sent(number(Number(amount)), to.trim()));
    onSent();
    onClose();
  });
  const stray = error && !['to_username', 'amount', 'description'].some((field) => wrong(field));
  return (
    <Dialog title={t.points_screen.send} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <Field label={t.points_screen.to} wrong={wrong('to_username')}>
          {(field) => (
            <input
              {...field}
              required
              autofocus
              autocomplete="off"
              value={to}
              onInput={(e) => set_to(e.currentTarget.value)}
            />
          )}
        </Field>
        <Field label={t.points_screen.amount} wrong={wrong('amount')}>
          {(field) => (
            <input
              {...field}
              required
              inputMode="numeric"
              pattern="[0-9]+"
              autocomplete="off"
              value={amount}
              onInput={(e) => set_amount(e.currentTarget.value)}
            />
          )}
        </Field>
        <Field label={t.points_screen.why} wrong={wrong('description')}>
          {(field) => (
            <input
              {...field}
              autocomplete="off"
              maxLength={200}
              value={description}
              onInput={(e) => describe(e.currentTarget.value)}
            />
          )}
        </Field>
        {stray && (
          <p class="wrong" role="alert">
            {error.message}
          </p>
        )}
        <div class="actions row">
          <Button onClick={onClose}>{t.frame.cancel}</Button>
          <Button type="submit" kinds={['main-action']} busy={busy} disabled={!to.trim() || !/^\d+$/.test(amount)}>
            {t.points_screen.send}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function PointsScreen() {
  const [direction, set_direction] = useState('');
  const [kind, set_kind] = useState('');
  const [from, set_from] = useState('');
  const [to, set_to] = useState('');
  const [page, turn] = useState(1);
  const [sending, send] = useState(false);
  const [round, next] = useState(0); // counts what was sent, after which the days are read again
  const balance = useReading(() => call('get', '/api/points/balance'), []);
  const newest = useReading(() => call('get', '/api/points/history', { query: { page_size: newest_entries } }), []);
  const filter = {
    ...(direction ? { direction: direction as 'in' | 'out' } : {}),
    ...(kind ? { kind } : {}),
    ...(from ? { from: new Date(`${from}T00:00`).toISOString() } : {}),
    ...(to ? { to: new Date(`${to}T23:59:59`).toISOString() } : {}),
  };
  const history = useReading(
    () => call('get', '/api/points/history', { query: { ...filter, page, page_size } as never }),
    [direction, kind, from, to, page],
  );
  const kinds = [...new Set((newest.value?.entries ?? []).map((entry) => entry.kind))].sort();
  const filtered = !!(direction || kind || from || to);
  const choose = (set: (value: string) => void) => (e: { currentTarget: { value: string } }) => {
    set(e.currentTarget.value);
    turn(1);
  };
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
        <Button icon="send" onClick={() => send(true)}>
          {t.points_screen.send}
        </Button>
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
        <div class="body filters">
          <Field label={t.points_screen.direction}>
            {(field) => (
              <select {...field} value={direction} onChange={choose(set_direction)}>
                <option value="">{t.points_screen.all}</option>
                <option value="in">{t.points_screen.in}</option>
                <option value="out">{t.points_screen.out}</option>
              </select>
            )}
          </Field>
          <Field label={t.points_screen.kind}>
            {(field) => (
              <select {...field} value={kind} onChange={choose(set_kind)}>
                <option value="">{t.points_screen.all}</option>
                {kinds.map((one) => (
                  <option key={one} value={one}>
                    {t.kind(one)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label={t.points_screen.from}>
            {(field) => <input {...field} type="date" value={from} onChange={choose(set_from)} />}
          </Field>
          <Field label={t.points_screen.until}>
            {(field) => <input {...field} type="date" value={to} onChange={choose(set_to)} />}
          </Field>
        </div>
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
      {sending && <Send onClose={() => send(false)} onSent={again} />}
    </Page>
  );
}
