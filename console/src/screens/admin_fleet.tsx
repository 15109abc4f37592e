// For admins: the state of berthd's work for all deployments.
import { useEffect } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { type Answer, call } from '../api';
import { Read, Table } from '../components/table';
import { Button, Card, Copy, Meter, Time } from '../components/ui';
import { useReading } from '../components/use';
import { number, time_of_day } from '../format';
import { type Reason, t } from '../messages';
import { deployment_href } from './admin_parts';

type State = Answer<'get', '/api/internal/fleet'>;
const hour = 3_600,
  day = 24 * hour; // s
const megabyte = 1e6,
  gigabyte = 1e9;
const old_backup = 2 * day;
const little_room = 0.1; // of the disk
const much_waits = 100; // mails, or deliveries
const long_overdue = 10 * 60; // s
const much_of_budget = 0.8;
const read_every = 10_000; // ms

interface Problem {
  text: string;
  href: string;
  bad: boolean; // something is broken now; otherwise it will be
}

// What somebody has to look at, the urgent first.
export function problems_of(of: State): Problem[] {
  const { cluster, isolation, reconciles, deployments, certificates, storage, backup, mail, webhooks } = of;
  const p = t.fleet.problems;
  const fleet = '/admin/fleet';
  const all: (Problem | false)[] = [
    cluster.state === 'unreachable' && { text: p.cluster, href: fleet, bad: true },
    isolation.state === 'open' && { text: p.isolation, href: fleet, bad: true },
    storage.disk_bytes > 0 &&
      storage.disk_free_bytes < little_room * storage.disk_bytes && {
        text: p.disk(bytes(storage.disk_free_bytes)),
        href: fleet,
        bad: true,
      },
    deployments.errored > 0 && {
      text: p.failed(deployments.errored),
      href: '/admin/deployments?status=errored',
      bad: true,
    },
    reconciles.stalled > 0 && { text: p.stalled(reconciles.stalled), href: fleet, bad: true },
    (backup.age_seconds ?? 0) > old_backup && {
      text: p.backup(time(backup.age_seconds ?? 0)),
      href: fleet,
      bad: false,
    },
    certificates.ordered > much_of_budget * certificates.most && {
      text: p.certificates(certificates.ordered, certificates.most),
      href: fleet,
      bad: false,
    },
    certificates.refused > 0 && { text: p.refused(certificates.refused), href: fleet, bad: false },
    mail.waiting > much_waits && { text: p.mail(mail.waiting), href: fleet, bad: false },
    webhooks.overdue_seconds > long_overdue && {
      text: p.webhooks(time(webhooks.overdue_seconds)),
      href: fleet,
      bad: false,
    },
    of.orphans > 0 && { text: p.orphans(of.orphans), href: fleet, bad: false },
  ];
  return all.filter((one) => one !== false).sort((a, b) => Number(b.bad) - Number(a.bad));
}

const tenths = (value: number) => number(Math.round(value * 10) / 10);
const time = (seconds: number) =>
  seconds < 2 * hour
    ? t.fleet.seconds(number(Math.round(seconds)))
    : seconds < 2 * day
      ? t.fleet.hours(number(Math.round(seconds / hour)))
      : t.fleet.days(Math.round(seconds / day));
const bytes = (size: number) =>
  size < gigabyte ? t.fleet.megabytes(tenths(size / megabyte)) : t.fleet.gigabytes(tenths(size / gigabyte));

function Figure({ name, value, small, bad }: { name: string; value: string; small?: string; bad?: boolean }) {
  return (
    <div class="figure">
      <span class="small faint">{name}</span>
      <span class={`value${bad ? ' minus' : ''}`}>
        {value}
        {small && <small> {small}</small>}
      </span>
    </div>
  );
}

function Figures({ of }: { of: State }) {
  const { cluster, isolation, reconciles, deployments, certificates, storage } = of;
  const f = t.fleet;
  return (
    <div class="columns even">
      <Card
        title={f.cluster}
        actions={
          <span class={`badge ${cluster.state === 'unreachable' ? 'bad' : 'good'}`}>{f.states[cluster.state]}</span>
        }>
        <dl class="facts">
          <dt>{f.leader}</dt>
          <dd>{cluster.leads ? f.this_one : (cluster.leader ?? f.nobody)}</dd>
          {cluster.error && (
            <>
              <dt>{f.state}</dt>
              <dd class="break">{cluster.error}</dd>
            </>
          )}
          <dt>{t.admin.orphans}</dt>
          <dd class="number">{number(of.orphans)}</dd>
        </dl>
      </Card>
      <Card
        title={f.isolation}
        actions={
          <span class={`badge ${isolation.state === 'open' ? 'bad' : isolation.state === 'proven' ? 'good' : ''}`}>
            {f.isolation_states[isolation.state]}
          </span>
        }>
        <div class="stack">
          <div class="figures">
            <Figure
              name={f.open_paths}
              value={isolation.checked_at ? number(isolation.open) : '–'}
              bad={isolation.open > 0}
            />
            <Figure
              name={f.blocked_paths}
              value={isolation.checked_at ? number(isolation.blocked) : '–'}
              bad={isolation.blocked > 0}
            />
          </div>
          {isolation.checked_at && (
            <p class="small faint">
              {f.checked} <Time at={isolation.checked_at} />
            </p>
          )}
          {isolation.problem && <p class="small faint break">{f.no_result(isolation.problem)}</p>}
        </div>
      </Card>
      <Card title={f.reconciles}>
        <div class="stack">
          <div class="figures">
            <Figure name={f.waiting} value={number(reconciles.waiting)} />
            <Figure name={f.stalled} value={number(reconciles.stalled)} bad={reconciles.stalled > 0} />
            <Figure name={f.longest} value={f.seconds(tenths(reconciles.longest_seconds))} />
            <Figure name={f.errors} value={number(reconciles.errors)} />
          </div>
          <p class="small faint">{f.text}</p>
        </div>
      </Card>
      <Card title={f.statuses}>
        <div class="figures">
          {(['running', 'deploying', 'pending', 'stopped', 'errored'] as const).map((status) => (
            <Figure
              key={status}
              name={t.status[status]}
              value={number(deployments[status])}
              bad={status === 'errored' && deployments.errored > 0}
            />
          ))}
        </div>
      </Card>
      <Card title={f.certificates}>
        <div class="stack">
          <div class="figures">
            <Figure
              name={f.ordered(number(certificates.window_hours))}
              value={number(certificates.ordered)}
              small={f.of(number(certificates.most))}
            />
            <Figure name={f.refused} value={number(certificates.refused)} bad={certificates.refused > 0} />
          </div>
          <Meter
            label={f.ordered(number(certificates.window_hours))}
            value={certificates.ordered}
            of={certificates.most}
            warn={certificates.ordered > much_of_budget * certificates.most}
          />
        </div>
      </Card>
      <Card title={f.messages}>
        <div class="figures">
          <Figure name={f.mail} value={number(of.mail.waiting)} bad={of.mail.waiting > much_waits} />
          <Figure name={f.webhooks} value={number(of.webhooks.waiting)} bad={of.webhooks.waiting > much_waits} />
          <Figure
            name={f.overdue}
            value={time(of.webhooks.overdue_seconds)}
            bad={of.webhooks.overdue_seconds > long_overdue}
          />
        </div>
      </Card>
      <Card title={f.storage}>
        <div class="figures">
          <Figure
            name={f.backup}
            value={of.backup.age_seconds === null ? '–' : time(of.backup.age_seconds)}
            bad={(of.backup.age_seconds ?? 0) > old_backup}
          />
          <Figure name={f.database} value={bytes(storage.database_bytes)} />
          <Figure name={f.history} value={bytes(storage.history_bytes)} />
          <Figure
            name={f.free}
            value={bytes(storage.disk_free_bytes)}
            small={f.of(bytes(storage.disk_bytes))}
            bad={storage.disk_free_bytes < little_room * storage.disk_bytes}
          />
        </div>
      </Card>
    </div>
  );
}

// Deployments that have objects on the cluster but no row, so that there is no page of them.
function Orphans() {
  const orphans = useReading(() => call('get', '/api/internal/deploy/orphans'), []);
  return (
    <Card title={t.admin.orphans} bare>
      <Read of={orphans}>
        {({ deployments }) => (
          <>
            <p class="body soft">{t.admin.orphans_text}</p>
            <ul class="list">
              {deployments.map((id) => (
                <li key={id}>
                  <Copy text={id} label={t.deployment.id} />
                </li>
              ))}
            </ul>
          </>
        )}
      </Read>
    </Card>
  );
}

export function Fleet() {
  const state = useReading(() => call('get', '/api/internal/fleet'), []);
  // There are no events of the fleet: it is read again and again while somebody looks at it.
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && state.again(), read_every);
    return () => clearInterval(timer);
  }, []);
  return (
    <Read of={state}>
      {(value) => (
        <>
          <div class="row apart">
            <p class="small soft" role="status">
              {t.fleet.live(time_of_day(state.at))}
            </p>
            <Button slim icon="restart" onClick={state.again}>
              {t.fleet.again}
            </Button>
          </div>
          <Figures of={value} />
          {value.orphans > 0 && <Orphans />}
          <Card title={t.fleet.failed} bare>
            {value.failed.length === 0 ? (
              <p class="body soft">{t.fleet.none_failed}</p>
            ) : (
              <Table label={t.fleet.failed} columns={[t.app.name, t.admin.reason_column, t.points_screen.when]}>
                {value.failed.map((one) => (
                  <tr key={one.id}>
                    <td>
                      <Link href={deployment_href(one.id)}>{one.name}</Link>
                    </td>
                    <td>
                      {one.reason ? (t.reasons[one.reason as Reason] ?? t.reasons.unknown).title : '–'}
                      {one.message && <div class="small faint break">{one.message}</div>}
                    </td>
                    <td class="soft">
                      <Time at={one.updated_at} />
                    </td>
                  </tr>
                ))}
              </Table>
            )}
          </Card>
        </>
      )}
    </Read>
  );
}
