// Requests for points back: what the account has asked for, and what an app's users ask of its owner.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Answer, type Body, call } from '../api';
import { type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { whole } from '../components/sum';
import { Pages, Read } from '../components/table';
import { Button, Card, Choices, Empty, Time } from '../components/ui';
import { type Reading, useReading } from '../components/use';
import type { App, Deployment } from '../data';
import { t } from '../messages';

export type RefundRequest = Answer<'get', '/api/points/refund-requests'>['refund_requests'][number];
type Asking = Body<'post', '/api/points/refund-requests'>;
type Answering = Body<'post', '/api/operator/refund-requests/{id}/answer'>;

const page_size = 10;
const marks: Record<RefundRequest['status'], string> = {
  open: 'warn',
  approved: 'good',
  rejected: 'bad',
  withdrawn: '',
  expired: '',
};

// A movement of the account's history that is asked for.
export interface Spend {
  id: string;
  amount: number;
}

// One request in a list; `actions` belong to an open one.
function RequestRow({
  of,
  who,
  actions,
}: {
  of: RefundRequest;
  who?: string | null | undefined;
  actions: ComponentChildren;
}) {
  return (
    <li>
      <div class="grow">
        <div>
          {t.points(of.amount)} <span class="soft">{[who, of.app_name].filter(Boolean).join(' · ')}</span>
        </div>
        <div class="small faint break">{of.reason}</div>
        {of.note && <div class="small soft break">{of.note}</div>}
      </div>
      <span class="small faint">
        <Time at={of.closed_at ?? of.inserted_at} />
      </span>
      {of.status === 'open' ? (
        <span class="row tight">{actions}</span>
      ) : (
        <span class={`badge ${marks[of.status]}`}>
          {t.refunds.states[of.status]}
          {of.refunded !== null && of.refunded !== of.amount ? ` (${t.points(of.refunded)})` : ''}
        </span>
      )}
    </li>
  );
}

const answer_fields = (of: RefundRequest): FieldOf<Answering>[] => [
  { name: 'amount', label: t.refunds.points, kind: 'number', hint: t.refunds.at_most(of.amount) },
  { name: 'note', label: t.refunds.note, hint: t.refunds.note_hint, most: 200 },
];

// Asks whoever answers: how many points are given back, and what they say.
function AnswerDialog({
  of,
  approve,
  balance,
  send,
  onClose,
}: {
  of: RefundRequest;
  approve: boolean;
  balance: number | null | undefined; // of the app that pays; null if it isn't known here
  send: (body: Answering, once: string) => Promise<void>;
  onClose: () => void;
}) {
  const fields = answer_fields(of);
  return (
    <FormDialog<Answering>
      title={approve ? t.refunds.approve_title : t.refunds.reject_title}
      action={approve ? t.refunds.approve : t.refunds.reject}
      danger={!approve}
      fields={approve ? fields : fields.slice(1)}
      onClose={onClose}
      cost={({ amount }) => (approve ? { now: whole(amount) || of.amount, balance, app: of.app_id } : null)}
      run={(body, once) => send({ ...body, approve }, once)}>
      <p class="soft break">{of.reason}</p>
    </FormDialog>
  );
}

type Waiting = Answer<'get', '/api/operator/refund-requests'>;

// A list of requests that somebody answers here.
export function Answerable({
  list,
  turn,
  none,
  who,
  balance,
  send,
}: {
  list: Reading<Waiting>;
  turn: (page: number) => void;
  none: ComponentChildren; // instead of an empty list
  who: (one: Waiting['refund_requests'][number]) => string | null | undefined;
  balance: number | null | undefined; // as for the dialog
  send: (path: { id: string }, body: Answering, once: string) => Promise<void>;
}) {
  const [answering, answer] = useState<{ of: RefundRequest; approve: boolean } | null>(null);
  return (
    <>
      <Read of={list}>
        {(value) =>
          value.refund_requests.length === 0 ? (
            <>{none}</>
          ) : (
            <>
              <ul class="list">
                {value.refund_requests.map((one) => (
                  <RequestRow
                    key={one.id}
                    of={one}
                    who={who(one)}
                    actions={
                      <>
                        <Button slim kinds={['main-action']} onClick={() => answer({ of: one, approve: true })}>
                          {t.refunds.approve}
                        </Button>
                        <Button slim onClick={() => answer({ of: one, approve: false })}>
                          {t.refunds.reject}
                        </Button>
                      </>
                    }
                  />
                ))}
              </ul>
              <Pages of={value} turn={turn} />
            </>
          )
        }
      </Read>
      {answering && (
        <AnswerDialog
          {...answering}
          balance={balance}
          onClose={() => answer(null)}
          send={(body, once) => send({ id: answering.of.id }, body, once)}
        />
      )}
    </>
  );
}

// What the account has asked for. While `asking` is set, a dialog asks for those points.
export function OwnRefunds({ asking, onClose, round }: { asking: Spend | null; onClose: () => void; round: number }) {
  const [page, turn] = useState(1);
  const list = useReading(
    () => call('get', '/api/points/refund-requests', { query: { page, page_size } }),
    [page, round],
  );
  async function withdraw(id: string) {
    await call('delete', '/api/points/refund-requests/{id}', { path: { id } }).catch((failure) =>
      note(failure.message),
    );
    list.again();
  }
  return (
    <>
      <Card title={t.refunds.own} bare>
        <Read of={list}>
          {(value) =>
            value.refund_requests.length === 0 ? (
              <p class="body soft">{t.refunds.none_own}</p>
            ) : (
              <>
                <ul class="list">
                  {value.refund_requests.map((one) => (
                    <RequestRow
                      key={one.id}
                      of={one}
                      actions={
                        <Button slim onClick={() => withdraw(one.id)}>
                          {t.app.withdraw}
                        </Button>
                      }
                    />
                  ))}
                </ul>
                <Pages of={value} turn={turn} />
              </>
            )
          }
        </Read>
      </Card>
      {asking && (
        <FormDialog<Asking>
          title={t.refunds.ask_title}
          action={t.refunds.ask}
          onClose={onClose}
          fields={[
            { name: 'amount', label: t.refunds.points, kind: 'number', hint: t.refunds.all_of(-asking.amount) },
            { name: 'reason', label: t.refunds.reason, required: true, most: 200 },
          ]}
          run={async (body, once) => {
            await call('post', '/api/points/refund-requests', { once, body: { ...body, spend_id: asking.id } });
            note(t.refunds.asked);
            list.again();
          }}>
          <p class="soft">{t.refunds.ask_text}</p>
        </FormDialog>
      )}
    </>
  );
}

// Asks the platform's admins for points that a deployment was charged.
export function AskForCharge({ deployment, onClose }: { deployment: Deployment; onClose: () => void }) {
  return (
    <FormDialog<Asking>
      title={t.refunds.ask_title}
      action={t.refunds.ask}
      onClose={onClose}
      fields={[
        { name: 'amount', label: t.refunds.points, kind: 'number', hint: t.refunds.all_charged },
        { name: 'reason', label: t.refunds.reason, required: true, most: 200 },
      ]}
      run={async (body, once) => {
        await call('post', '/api/points/refund-requests', { once, body: { ...body, deployment_id: deployment.id } });
        note(t.refunds.asked);
      }}>
      <p class="soft">{t.refunds.ask_admins_text}</p>
    </FormDialog>
  );
}

// What an app's users ask of its owner.
export function UsersRefunds({ app, balance, onDone }: { app: App; balance: number | undefined; onDone: () => void }) {
  const [status, choose] = useState<'open' | 'approved' | 'rejected'>('open');
  const [page, turn] = useState(1);
  const list = useReading(
    () => call('get', '/api/operator/refund-requests', { app: app.id, query: { status, page, page_size } }),
    [app.id, status, page],
  );
  return (
    <Card
      title={t.refunds.of_users}
      bare
      actions={
        <Choices
          label={t.webhooks.state}
          of={['open', 'approved', 'rejected'] as const}
          chosen={status}
          choose={(one) => {
            choose(one);
            turn(1);
          }}
          name={(one) => t.refunds.states[one]}
        />
      }>
      <Answerable
        list={list}
        turn={turn}
        none={<Empty icon="check" title={t.refunds.none} text={t.refunds.none_text} />}
        who={(one) => one.username}
        balance={balance}
        send={async (path, body, once) => {
          await call('post', '/api/operator/refund-requests/{id}/answer', { app: app.id, path, once, body });
          note(t.refunds.answered);
          list.again();
          onDone();
        }}
      />
    </Card>
  );
}
