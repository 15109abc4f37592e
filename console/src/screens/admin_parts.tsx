// What the admins' pages of a user, an app and a deployment have in common.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { type Answer, call } from '../api';
import { Confirm, type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { StatusBadge } from '../components/status';
import { whole } from '../components/sum';
import { Pages, Read, Table } from '../components/table';
import { Card, Empty, Time } from '../components/ui';
import { useReading } from '../components/use';
import { tier_name } from '../data';
import { signed } from '../format';
import { type Reason, t } from '../messages';
import { me } from '../session';
import { short_image } from './rollouts';

export type AnyDeployment = Answer<'get', '/api/internal/deploy/apps'>['deployments'][number];
export type AnyApp = Answer<'get', '/api/internal/apps'>['apps'][number];
export type AnyUser = Answer<'get', '/api/internal/users'>['users'][number];
type Movement = Answer<'get', '/api/internal/users/{id}'>['movements'][number];
type DeploymentQuery = {
  q?: string;
  status?: string;
  tier?: string;
  billing?: string;
  app_id?: string;
  owner_id?: string;
};

export const page_size = 50;

export const user_href = (id: string) => `/admin/users/${id}`;
export const app_href = (id: string) => `/admin/apps/${id}`;
export const deployment_href = (id: string) => `/admin/deployments/${id}`;

export const UserLink = ({ id, name }: { id: string; name: string | null }) =>
  name ? <Link href={user_href(id)}>{name}</Link> : <span class="faint">{t.admin.deleted_user}</span>;
export const AppLink = ({ id, name }: { id: string; name: string | null }) =>
  name ? <Link href={app_href(id)}>{name}</Link> : <span class="faint">{t.admin.deleted_app}</span>;

// Whom or what an entry of the audit log is about, as a link where there is a page.
export function Target({ action, target }: { action: string; target: string }) {
  const [kind, id] = target.split(':') as [string, string | undefined];
  if (id && kind === 'user') return <Link href={user_href(id)}>{t.admin.user}</Link>;
  if (id && kind === 'app') return <Link href={app_href(id)}>{t.app.one}</Link>;
  const pages: Record<string, string> = {
    user: user_href(target),
    app: app_href(target),
    deployment: deployment_href(target),
  };
  const page = /^[0-9a-f-]{36}$/.test(target) ? pages[action.split('.')[0]!] : undefined;
  return page ? (
    <Link href={page} class="mono small" title={target}>
      {target.slice(0, 8)}…
    </Link>
  ) : (
    <span class="break small mono">{target}</span>
  );
}

// Who acted: a person, or an internal secret by its name.
export function Actor({ actor, name }: { actor: string; name?: string | null }) {
  const [kind, id] = actor.split(':') as [string, string | undefined];
  if (kind !== 'user' || !id) return <span class="break">{actor}</span>;
  return id === me.value!.id ? <>{t.history.you}</> : <Link href={user_href(id)}>{name ?? t.admin.admin}</Link>;
}

export function BillingBadge({ of }: { of: AnyDeployment['billing_status'] }) {
  if (!of) return <>–</>;
  const good = of === 'current' || of === 'exempt';
  return <span class={`badge ${good ? (of === 'exempt' ? '' : 'good') : 'warn'}`}>{t.billing.states[of]}</span>;
}

export function DeploymentTable({
  label,
  of,
  apart = {},
}: {
  label: string;
  of: AnyDeployment[];
  apart?: { owner?: boolean; app?: boolean }; // columns that are left out
}) {
  return (
    <Table
      label={label}
      columns={[
        t.app.name,
        t.webhooks.state,
        ...(apart.app ? [] : [t.app.one]),
        ...(apart.owner ? [] : [t.admin.owner]),
        t.deployment.tier,
        t.billing.heading,
        t.deployment.created,
      ]}>
      {of.map((one) => (
        <tr key={one.id}>
          <td>
            <Link href={deployment_href(one.id)}>{one.name}</Link>
            <div class="small faint mono cut" title={one.container_image}>
              {short_image(one.container_image)}
            </div>
          </td>
          <td>
            <StatusBadge deployment={one} />
            {one.suspended ? (
              <div class="small minus">{t.admin.suspended}</div>
            ) : (
              one.reason && (
                <div class="small minus">{(t.reasons[one.reason as Reason] ?? t.reasons.unknown).title}</div>
              )
            )}
          </td>
          {!apart.app && (
            <td>
              <AppLink id={one.app_id} name={one.app_name} />
            </td>
          )}
          {!apart.owner && (
            <td>
              <UserLink id={one.owner_id} name={one.owner} />
            </td>
          )}
          <td>{tier_name(one.tier)}</td>
          <td>
            <BillingBadge of={one.billing_status} />
          </td>
          <td class="soft">
            <Time at={one.inserted_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

// A list of deployments with its pages; `query` says of which.
export function DeploymentList({
  title,
  query,
  apart,
  none,
}: {
  title: string;
  query: DeploymentQuery;
  apart?: { owner?: boolean; app?: boolean };
  none?: string;
}) {
  const [page, turn] = useState(1);
  const list = useReading(
    () => call('get', '/api/internal/deploy/apps', { query: { ...query, page, page_size } as object }),
    [JSON.stringify(query), page],
  );
  return (
    <Card title={title} bare>
      <Read of={list}>
        {(value) =>
          value.deployments.length === 0 ? (
            <p class="body soft">{none ?? t.admin.no_deployments}</p>
          ) : (
            <>
              <DeploymentTable label={title} of={value.deployments} {...(apart ? { apart } : {})} />
              <Pages of={value} turn={turn} />
            </>
          )
        }
      </Read>
    </Card>
  );
}

export function Movements({ of }: { of: Movement[] }) {
  return (
    <Card title={t.admin.movements} bare>
      {of.length === 0 ? (
        <p class="body soft">{t.points_screen.none}</p>
      ) : (
        <Table
          label={t.admin.movements}
          columns={[
            t.points_screen.what,
            t.points_screen.with,
            t.points_screen.when,
            { name: t.points_screen.unit, end: true },
          ]}>
          {of.map((one) => (
            <tr key={one.transaction_id + one.amount}>
              <td>{t.kind(one.kind)}</td>
              <td class="soft">
                {one.counterparty.id && one.counterparty.kind === 'user' ? (
                  <UserLink id={one.counterparty.id} name={one.counterparty.name} />
                ) : one.counterparty.id && one.counterparty.kind === 'app' ? (
                  <AppLink id={one.counterparty.id} name={one.counterparty.name} />
                ) : (
                  (one.counterparty.name ?? t.kind(one.counterparty.kind))
                )}
              </td>
              <td class="soft">
                <Time at={one.inserted_at} />
              </td>
              <td class={`end number ${one.amount > 0 ? 'plus' : ''}`}>{signed(one.amount)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

const shown_acts = 20;

// What admins did to a user, an app or a deployment.
// The audit log names the accounts of points by their kinds.
export function ActsOn({ target, account, round }: { target: string; account?: string; round: number }) {
  const acts = useReading(async () => {
    const of = (one: string) => call('get', '/api/internal/audit', { query: { target: one, page_size: shown_acts } });
    const pages = await Promise.all([of(target), ...(account ? [of(account)] : [])]);
    return { entries: pages.flatMap((one) => one.entries).sort((a, b) => (a.id < b.id ? 1 : -1)) };
  }, [target, round]);
  return (
    <Card
      title={t.admin.acts}
      bare
      actions={
        <Link class="small" href={`/admin/audit?target=${target}`}>
          {t.history.all}
        </Link>
      }>
      <Read of={acts}>
        {({ entries }) =>
          entries.length === 0 ? (
            <p class="body soft">{t.admin.no_acts}</p>
          ) : (
            <ul class="list">
              {entries.map((entry) => (
                <li key={entry.id}>
                  <div class="grow">
                    {t.audit_action(entry.action)}
                    <div class="small faint break">
                      {Object.entries(entry.details)
                        .map(
                          ([name, value]) =>
                            `${t.reason_word(name)}: ${typeof value === 'object' ? JSON.stringify(value) : value}`,
                        )
                        .join(' · ')}
                    </div>
                  </div>
                  <span class="small faint">
                    <Actor actor={entry.actor} name={entry.actor_name} /> · <Time at={entry.inserted_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Read>
    </Card>
  );
}

interface Giving {
  amount: number;
  reason: string;
}
const give_fields: FieldOf<Giving>[] = [
  { name: 'amount', label: t.menu.points, kind: 'number', required: true },
  { name: 'reason', label: t.points_screen.why, required: true },
];

// Mints points for a user, an app or the treasury, after the sum was shown.
export function Give({
  to,
  name,
  balance,
  onClose,
  onDone,
}: {
  to: { kind: 'treasury' | 'user' | 'app'; id?: string };
  name: string;
  balance: number;
  onClose: () => void;
  onDone: () => void;
}) {
  return (
    <FormDialog<Giving>
      title={to.kind === 'treasury' ? t.admin.mint : t.admin.give_title(name)}
      fields={give_fields}
      action={t.admin.mint}
      onClose={onClose}
      below={() => <p class="small faint">{t.admin.mint_text}</p>}
      cost={({ amount }) => ({ now: -whole(amount), balance, whose: t.sum.has(name) })}
      run={async ({ amount, reason }, once) => {
        await call('post', '/api/internal/points/mint', { once, body: { account: to, amount, reason } });
        note(t.admin.minted_now);
        onDone();
      }}
    />
  );
}

// Gives the app back what one of its deployments was charged.
export function Refund({
  id,
  name,
  most,
  balance,
  onClose,
  onDone,
}: {
  id: string;
  name: string;
  most: number;
  balance: number;
  onClose: () => void;
  onDone: () => void;
}) {
  return (
    <FormDialog<Giving>
      title={t.admin.refund_title(name)}
      fields={[{ ...give_fields[0]!, hint: t.admin.refund_most(most) }, give_fields[1]!]}
      action={t.admin.refund}
      onClose={onClose}
      cost={({ amount }) => ({ now: -whole(amount), balance })}
      run={async ({ amount, reason }, once) => {
        const { proposal } = await call('post', '/api/internal/deploy/apps/{deployment_id}/refund', {
          path: { deployment_id: id },
          once,
          body: { amount, reason },
        });
        note(proposal ? t.money.waits : t.admin.refunded(t.points(amount)));
        onDone();
      }}
    />
  );
}

// Asks, then does something that an admin may do, and reads the page again.
export function Ask({
  title,
  text,
  action,
  danger,
  run,
  onClose,
}: {
  title: string;
  text: string;
  action: string;
  danger?: boolean;
  run: () => Promise<void>;
  onClose: () => void;
}) {
  return (
    <Confirm title={title} action={action} {...(danger ? { danger } : {})} onClose={onClose} run={run}>
      <p>{text}</p>
    </Confirm>
  );
}

export function Gone({ title }: { title: string }) {
  return (
    <section class="card">
      <Empty icon="search" title={title} text={t.admin.gone_text} />
    </section>
  );
}
