// For admins: what waits for them. Requests are decided here; what is wrong with the platform leads to where it is shown.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { type Answer, type Body, call } from '../api';
import { FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Pages, Read } from '../components/table';
import { Button, Card, Choices, Empty, Time } from '../components/ui';
import { useReading } from '../components/use';
import { tier_name } from '../data';
import { type ScopeName, t } from '../messages';
import { may } from '../session';
import { problems_of } from './admin_fleet';
import { Proposals, RefundInbox } from './admin_money';
import { AppLink, page_size } from './admin_parts';

export type Request = Answer<'get', '/api/internal/scope-requests'>['scope_requests'][number];
const marks: Record<Request['status'], string> = { pending: 'warn', approved: 'good', rejected: 'bad', withdrawn: '' };

// The tier that is asked for, if one is.
const tier_of = (request: Request & { tier?: string | null }) =>
  request.tier ? [t.admin.asks_tier(tier_name(request.tier))] : [];

export function RequestList({ of, again, of_app }: { of: Request[]; again: () => void; of_app?: boolean }) {
  const [rejecting, reject] = useState<Request | null>(null);
  async function approve(id: string) {
    await call('post', '/api/internal/scope-requests/{id}/approve', { path: { id } }).then(
      () => note(t.admin.approved),
      (failure) => note(failure.message),
    );
    again();
  }
  return (
    <>
      <ul class="list">
        {of.map((request) => (
          <li key={request.id}>
            <div class="grow">
              {!of_app && (
                <div>
                  <AppLink id={request.app_id ?? ''} name={request.app_name ?? null} />{' '}
                  <span class="soft">{t.admin.asks(request.owner ?? '–')}</span>
                </div>
              )}
              <div class="small soft">
                {[
                  ...request.requested_scopes.map((scope) => t.scopes[scope as ScopeName] ?? scope),
                  ...tier_of(request),
                ].join(' · ')}
              </div>
              {request.reason && <div class="small faint break">{request.reason}</div>}
            </div>
            <span class="small faint">
              <Time at={request.decided_at ?? request.inserted_at} />
            </span>
            {request.status === 'pending' && may() ? (
              <span class="row tight">
                <Button slim kinds={['main-action']} onClick={() => approve(request.id)}>
                  {t.admin.approve}
                </Button>
                <Button slim onClick={() => reject(request)}>
                  {t.admin.reject}
                </Button>
              </span>
            ) : (
              <span class={`badge ${marks[request.status]}`}>{t.app.states[request.status]}</span>
            )}
          </li>
        ))}
      </ul>
      {rejecting && (
        <FormDialog<Body<'post', '/api/internal/scope-requests/{id}/reject'>>
          title={t.admin.reject_title(rejecting.app_name ?? '')}
          action={t.admin.reject}
          danger
          onClose={() => reject(null)}
          fields={[{ name: 'reason', label: t.admin.reason, kind: 'long' }]}
          run={async (body) => {
            await call('post', '/api/internal/scope-requests/{id}/reject', { path: { id: rejecting.id }, body });
            again();
          }}
        />
      )}
    </>
  );
}

function ScopeRequests() {
  const [status, choose] = useState<Request['status']>('pending');
  const [page, turn] = useState(1);
  const list = useReading(
    () => call('get', '/api/internal/scope-requests', { query: { status, page, page_size } }),
    [status, page],
  );
  return (
    <Card
      title={t.admin.scope_requests}
      bare
      actions={
        <Choices
          label={t.webhooks.state}
          of={['pending', 'approved', 'rejected'] as const}
          chosen={status}
          choose={(one) => {
            choose(one);
            turn(1);
          }}
          name={(one) => t.app.states[one]}
        />
      }>
      <Read of={list}>
        {(value) =>
          value.scope_requests.length === 0 ? (
            <Empty
              icon="check"
              title={status === 'pending' ? t.admin.no_requests : t.admin.none_of_these}
              text={t.admin.no_requests_text}
            />
          ) : (
            <>
              <RequestList of={value.scope_requests} again={list.again} />
              <Pages of={value} turn={turn} />
            </>
          )
        }
      </Read>
    </Card>
  );
}

// What is wrong with the platform, in a line each.
function Problems() {
  const state = useReading(() => call('get', '/api/internal/fleet'), []);
  return (
    <Card title={t.admin.problems} bare>
      <Read of={state}>
        {(value) => {
          const all = problems_of(value);
          return all.length === 0 ? (
            <p class="body soft">{t.admin.no_problems}</p>
          ) : (
            <ul class="list">
              {all.map(({ text, href, bad }) => (
                <li key={text}>
                  <span class={`badge ${bad ? 'bad' : 'warn'}`}>{bad ? t.admin.urgent : t.admin.soon}</span>
                  <span class="grow">{text}</span>
                  <Link href={href}>{t.admin.look}</Link>
                </li>
              ))}
            </ul>
          );
        }}
      </Read>
    </Card>
  );
}

export function Inbox() {
  const [round, next] = useState(0); // counts what was proposed
  return (
    <>
      <Problems />
      <ScopeRequests />
      <RefundInbox onProposed={() => next(round + 1)} />
      <Proposals round={round} />
    </>
  );
}
