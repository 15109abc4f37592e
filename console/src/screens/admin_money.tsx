// For admins: where the platform's points are and what is unusual; what users and operators ask to get back; and what
// two admins decide together.
import { useState } from 'preact/hooks';
import { type Answer, type Body, call } from '../api';
import { type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Sum, whole } from '../components/sum';
import { Pages, Read, Table } from '../components/table';
import { Button, Card, Empty, Time } from '../components/ui';
import { useReading } from '../components/use';
import { day_name, number } from '../format';
import { t } from '../messages';
import { me } from '../session';
import { Actor, AppLink, page_size } from './admin_parts';
import { Figures, Kinds } from './app_money';
import { Answerable } from './refund_requests';

const window_days = 30;

type Money = Answer<'get', '/api/internal/money'>;
type Proposal = Answer<'get', '/api/internal/points/proposals'>['proposals'][number];
type Refund = Body<'post', '/api/internal/points/refunds'>;
type ClawBack = Body<'post', '/api/internal/points/claw-backs'>;

// Says what became of an admin's order, which another admin may have to confirm.
const say = (answer: { proposal?: unknown }, done: string) => note(answer.proposal ? t.money.waits : done);

function Anomalies({ of }: { of: Money['anomalies'] }) {
  if (of.length === 0) return <p class="body soft">{t.money.nothing_unusual}</p>;
  return (
    <ul class="list">
      {of.map((one) => (
        <li key={one.rule + (one.app_id ?? '') + one.date}>
          <span class="badge warn">{t.money.rules[one.rule]}</span>
          <div class="grow">
            {one.app_id ? <AppLink id={one.app_id} name={one.app_name} /> : t.admin.the_treasury}
            <div class="small faint">{t.money.rule_texts[one.rule](number(one.value), number(one.threshold))}</div>
          </div>
          <span class="small faint">{day_name(one.date)}</span>
        </li>
      ))}
    </ul>
  );
}

const refund_fields: FieldOf<Refund>[] = [
  { name: 'spend_id', label: t.money.spend_id, mono: true, required: true, errors: ['not_found'] },
  { name: 'amount', label: t.refunds.points, kind: 'number', required: true },
  { name: 'reason', label: t.refunds.reason, required: true, most: 200 },
];
const claw_back_fields: FieldOf<ClawBack>[] = [
  { name: 'transaction_id', label: t.money.transaction_id, mono: true, required: true, errors: ['not_found'] },
  { name: 'amount', label: t.refunds.points, kind: 'number', required: true },
  { name: 'reason', label: t.refunds.reason, required: true, most: 200 },
];

// The platform's points.
export function PlatformMoney() {
  const [asking, ask] = useState<'refund' | 'claw_back' | null>(null);
  const money = useReading(() => call('get', '/api/internal/money', { query: { days: window_days } }), []);
  return (
    <>
      <Card title={t.money.unusual} bare>
        <Read of={money}>{(value) => <Anomalies of={value.anomalies} />}</Read>
      </Card>
      <Card
        title={t.money.heading(window_days)}
        bare
        actions={
          <>
            <Button slim onClick={() => ask('refund')}>
              {t.admin.refund}
            </Button>
            <Button slim onClick={() => ask('claw_back')}>
              {t.money.claw_back}
            </Button>
          </>
        }>
        <Read of={money}>
          {(value) => (
            <>
              <Figures
                of={[
                  [t.admin.supply, number(value.supply)],
                  [t.admin.treasury, number(value.treasury)],
                  [t.money.owed, number(value.owed)],
                  [t.money.held, number(value.held)],
                  [t.money.issued, number(value.issued)],
                  [t.money.owed_before, number(value.owed_before)],
                ]}
              />
              {value.treasury_kinds.length > 0 && <Kinds of={value.treasury_kinds} />}
            </>
          )}
        </Read>
      </Card>
      <Card title={t.money.movers} bare>
        <Read of={money}>
          {(value) =>
            value.movers.length === 0 ? (
              <p class="body soft">{t.points_screen.none}</p>
            ) : (
              <Table
                label={t.money.movers}
                columns={[
                  t.app.one,
                  { name: t.points_screen.in, end: true },
                  { name: t.points_screen.out, end: true },
                ]}>
                {value.movers.map((one) => (
                  <tr key={one.app_id}>
                    <td>
                      <AppLink id={one.app_id} name={one.app_name} />
                    </td>
                    <td class="end number">{number(one.in)}</td>
                    <td class="end number">{number(one.out)}</td>
                  </tr>
                ))}
              </Table>
            )
          }
        </Read>
      </Card>
      {asking === 'refund' && (
        <FormDialog<Refund>
          title={t.money.refund_title}
          action={t.admin.refund}
          fields={refund_fields}
          below={({ amount }) => <Sum now={whole(amount)} balance={null} />}
          onClose={() => ask(null)}
          run={async (body, once) =>
            say(
              await call('post', '/api/internal/points/refunds', { once, body }),
              t.admin.refunded(t.points(body.amount)),
            )
          }>
          <p class="soft">{t.money.refund_text}</p>
        </FormDialog>
      )}
      {asking === 'claw_back' && (
        <FormDialog<ClawBack>
          title={t.money.claw_back}
          action={t.money.claw_back}
          danger
          fields={claw_back_fields}
          below={({ amount }) => <Sum now={whole(amount)} balance={null} />}
          onClose={() => ask(null)}
          run={async (body, once) =>
            say(
              await call('post', '/api/internal/points/claw-backs', { once, body }),
              t.money.clawed_back(t.points(body.amount)),
            )
          }>
          <p class="soft">{t.money.claw_back_text}</p>
        </FormDialog>
      )}
    </>
  );
}

// What users and operators ask to get back. `onProposed` is called when another admin has to confirm an answer.
export function RefundInbox({ onProposed }: { onProposed: () => void }) {
  const [page, turn] = useState(1);
  const list = useReading(
    () => call('get', '/api/internal/refund-requests', { query: { status: 'open', page, page_size } }),
    [page],
  );
  return (
    <Card title={t.refunds.heading} bare>
      <Answerable
        list={list}
        turn={turn}
        none={<p class="body soft">{t.refunds.none}</p>}
        who={(one) =>
          [one.username, one.deployment_id ? t.refunds.of_deployment : t.refunds.of_spend].filter(Boolean).join(' · ')
        }
        balance={null}
        send={async (path, body, once) => {
          const answered = await call('post', '/api/internal/refund-requests/{id}/answer', { path, once, body });
          say(answered, t.refunds.answered);
          list.again();
          if (answered.proposal) onProposed();
        }}
      />
    </Card>
  );
}

// What waits for another admin. It is read again when `round` changes.
export function Proposals({ round }: { round: number }) {
  const [page, turn] = useState(1);
  const list = useReading(
    () => call('get', '/api/internal/points/proposals', { query: { status: 'open', page, page_size } }),
    [page, round],
  );
  async function decide(one: Proposal, how: 'confirm' | 'reject') {
    await call('post', `/api/internal/points/proposals/{id}/${how}`, { path: { id: one.id } }).then(
      ({ proposal }) => note(proposal.status === 'open' ? t.money.seconded : t.money.decided[how]),
      (failure) => note(failure.message),
    );
    list.again();
  }
  const own = `user:${me.value!.id}`;
  return (
    <Card title={t.money.proposals} bare>
      <Read of={list}>
        {(value) =>
          value.proposals.length === 0 ? (
            <Empty icon="check" title={t.money.no_proposals} text={t.money.no_proposals_text} />
          ) : (
            <>
              <ul class="list">
                {value.proposals.map((one) => (
                  <li key={one.id}>
                    <div class="grow">
                      {t.money.proposal_kinds[one.kind]}, {t.points(one.amount)}
                      <div class="small faint break">{one.reason}</div>
                      <div class="small faint mono break">{one.subject_id}</div>
                    </div>
                    <span class="small faint">
                      <Actor actor={one.proposed_by} /> · <Time at={one.inserted_at} />
                    </span>
                    <span class="row tight">
                      {one.proposed_by !== own && one.seconded_by !== own && (
                        <Button slim kinds={['main-action']} onClick={() => decide(one, 'confirm')}>
                          {t.money.confirm}
                        </Button>
                      )}
                      <Button slim onClick={() => decide(one, 'reject')}>
                        {t.refunds.reject}
                      </Button>
                    </span>
                  </li>
                ))}
              </ul>
              <Pages of={value} turn={turn} />
            </>
          )
        }
      </Read>
    </Card>
  );
}
