// One deployment: its state, its log, its history, and what can be changed about it.
import { useEffect, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { call } from '../api';
import { Confirm } from '../components/form';
import { LazyAskForCharge, LazyBuilds, LazyRuns, LazyTerminal, LazyUsage } from '../components/lazy';
import { has_failed, is_busy, ReasonBanner, StatusBadge, Steps } from '../components/status';
import { note } from '../components/notes';
import { Banner, Bones, Button, Card, Copy, Empty, LinkButton, Menu, Meter, Page, Tabs, Time } from '../components/ui';
import { useReading } from '../components/use';
import {
  able,
  app_of,
  complete,
  type Deployment,
  deployments,
  forget,
  may_change,
  news,
  put,
  tier_name,
} from '../data';
import { cpu, date, exact, mebibytes, memory, number } from '../format';
import { t } from '../messages';
import { DomainTab } from './deployment_domain';
import { FailureBanner, type Instance, Instances, useInstances } from './deployment_failure';
import { Activity, HistoryTab, Rollback, useEntries } from './deployment_history';
import { LogTab } from './deployment_log';
import { Plots } from './deployment_plots';
import { ConfirmCharge, hour_of, useBilling } from './deployment_price';
import { Scaling } from './deployment_scale';
import { rollouts_in, short_image } from './rollouts';
import { SettingsTab } from './deployment_settings';
import { VariablesTab } from './deployment_variables';

export const news_of = (id: string) => news.value[id] ?? 0;

const useMetrics = (deployment: Deployment) =>
  useReading(
    () => call('get', '/api/deploy/apps/{id}/metrics', { path: { id: deployment.id }, app: deployment.app_id }),
    [deployment.id, deployment.status],
  );

function Metrics({ deployment, of: { value, again } }: { deployment: Deployment; of: ReturnType<typeof useMetrics> }) {
  const mib = value?.memory == null ? null : value.memory / 1_048_576;
  const cpu_limit = deployment.cpu_limit_millicores,
    memory_limit = deployment.memory_limit_mb;
  return (
    <Card
      title={t.metrics.heading}
      actions={<Button slim kinds={['plain']} icon="restart" label={t.metrics.again} onClick={again} />}>
      {!value ? (
        <Bones />
      ) : (
        <div class="figures">
          <div class="figure">
            <span class="small faint">{t.metrics.cpu}</span>
            <span class="value">
              {value.cpu == null ? (
                '–'
              ) : (
                <>
                  {number(value.cpu)} <small>{t.metrics.of_cpu(number(cpu_limit))}</small>
                </>
              )}
            </span>
            {value.cpu != null && (
              <Meter label={t.metrics.cpu} value={value.cpu} of={cpu_limit} warn={value.cpu > 0.9 * cpu_limit} />
            )}
          </div>
          <div class="figure">
            <span class="small faint">{t.metrics.memory}</span>
            <span class="value">
              {mib == null ? (
                '–'
              ) : (
                <>
                  {mebibytes(value.memory!)} <small>{t.metrics.of_memory(number(memory_limit))}</small>
                </>
              )}
            </span>
            {mib != null && (
              <Meter label={t.metrics.memory} value={mib} of={memory_limit} warn={mib > 0.9 * memory_limit} />
            )}
          </div>
          <div class="figure">
            <span class="small faint">{t.metrics.restarts}</span>
            <span class="value">{value.restarts == null ? '–' : number(value.restarts)}</span>
          </div>
          <div class="figure">
            <span class="small faint">{t.metrics.requests}</span>
            <span class="value">{value.requests == null ? '–' : number(value.requests)}</span>
          </div>
        </div>
      )}
    </Card>
  );
}

function Billing({ deployment }: { deployment: Deployment }) {
  const { value } = useBilling(deployment);
  const [asking, ask] = useState(false);
  if (!value)
    return (
      <Card title={t.billing.heading}>
        <Bones />
      </Card>
    );
  const start = Date.parse(value.period.start),
    end = Date.parse(value.period.end);
  return (
    <Card
      title={t.billing.heading}
      actions={
        <span
          class={`badge ${value.billing_status === 'current' || value.billing_status === 'exempt' ? 'good' : 'warn'}`}>
          {value.billing_status === 'exempt' && hour_of(value.tier)
            ? t.billing.by_hour
            : t.billing.states[value.billing_status]}
        </span>
      }>
      <div class="stack">
        {value.billing_status !== 'exempt' && (
          <Meter label={t.billing.period} value={Date.now() - start} of={end - start} />
        )}
        <dl class="facts">
          <dt>{t.billing.period}</dt>
          <dd>
            {date(value.period.start)} – {date(value.period.end)}
          </dd>
          <dt>{t.billing.next}</dt>
          <dd>
            {value.next_renewal ? (
              <>
                {t.points(value.amount)}, <Time at={value.next_renewal} />
              </>
            ) : (
              t.billing.none
            )}
          </dd>
          <dt>{t.billing.balance}</dt>
          <dd class="number">
            {t.points(value.balance)}
            {value.held > 0 && <div class="small faint">{t.billing.held(value.held)}</div>}
          </dd>
          {value.stops_at && (
            <>
              <dt>{t.billing.stops}</dt>
              <dd>
                <Time at={value.stops_at} />
              </dd>
            </>
          )}
        </dl>
        {value.history.length > 0 && (
          <details>
            <summary>{t.billing.charges}</summary>
            <ul class="stack tight small">
              {value.history.slice(0, 12).map((entry) => (
                <li class="row apart" key={entry.at + entry.kind}>
                  <span title={exact(entry.at)}>
                    {date(entry.at)}, {t.billing.kinds[entry.kind]}
                  </span>
                  <span class="number">{t.points(entry.amount)}</span>
                </li>
              ))}
            </ul>
            <Button slim onClick={() => ask(true)}>
              {t.points_screen.ask_back}
            </Button>
          </details>
        )}
      </div>
      {asking && <LazyAskForCharge deployment={deployment} onClose={() => ask(false)} />}
    </Card>
  );
}

function OverviewTab({
  deployment,
  entries,
  instances,
}: {
  deployment: Deployment;
  entries: ReturnType<typeof useEntries>;
  instances: Instance[];
}) {
  const metrics = useMetrics(deployment);
  return (
    <>
      {deployment.status !== 'stopped' && (
        <section class="card" aria-label={t.steps.label}>
          <div class="body">
            <Steps deployment={deployment} />
          </div>
        </section>
      )}
      <div class="columns">
        <div class="stack wide">
          <Metrics deployment={deployment} of={metrics} />
          <Scaling deployment={deployment} instances={instances} />
          <Instances deployment={deployment} instances={instances} />
          <Activity deployment={deployment} entries={entries} />
        </div>
        <div class="stack wide">
          <Card title={t.deployment.facts}>
            <dl class="facts">
              <dt>{t.create.image}</dt>
              <dd>
                <code>{deployment.container_image}</code>
              </dd>
              <dt>{t.create.port}</dt>
              <dd>{deployment.port}</dd>
              <dt>{t.deployment.tier}</dt>
              <dd>
                {tier_name(deployment.tier)}, {memory(deployment.memory_limit_mb)},{' '}
                {t.deployment.cpus(cpu(deployment.cpu_limit_millicores))}
              </dd>
              {deployment.custom_domain && (
                <>
                  <dt>{t.deployment.domain}</dt>
                  <dd>{deployment.custom_domain}</dd>
                </>
              )}
              <dt>{t.deployment.app}</dt>
              <dd>
                <Link href={`/apps/${deployment.app_id}`}>{app_of(deployment.app_id)?.app_name}</Link>
              </dd>
              {deployment.host_server && (
                <>
                  <dt>{t.deployment.node}</dt>
                  <dd>{deployment.host_server}</dd>
                </>
              )}
              <dt>{t.deployment.created}</dt>
              <dd>
                <Time at={deployment.inserted_at} />
              </dd>
              <dt>{t.deployment.id}</dt>
              <dd>
                <Copy text={deployment.id} label={t.deployment.id} />
              </dd>
            </dl>
          </Card>
          <Billing deployment={deployment} />
        </div>
      </div>
      {deployment.deployed_at && <Plots deployment={deployment} entries={entries.value} now={metrics.value} />}
    </>
  );
}

// The tabs that are there to change something.
const tabs_of_changes = ['terminal', 'variables', 'domain', 'settings'];

type Asking = 'start' | 'stop' | 'restart' | 'rollback' | 'delete' | null;

function Loaded({ deployment, tab }: { deployment: Deployment; tab: string }) {
  const [asking, ask] = useState<Asking>(null);
  const [, go] = useLocation();
  const { id, app_id: app } = deployment;
  const name = deployment.name ?? deployment.subdomain;
  const at = { path: { id }, app };
  const stopped = deployment.status === 'stopped';
  const entries = useEntries(deployment);
  const instances = useInstances(deployment).value ?? [];
  const { previous } = rollouts_in(entries.value ?? []);
  const restart = async () => {
    put((await call('post', '/api/deploy/apps/{id}/restart', at)).deployment);
  };
  const changes = may_change(deployment);
  const own_role = app_of(app)?.role ?? 'viewer';
  const shown = (
    ['overview', 'logs', 'terminal', 'history', 'runs', 'builds', 'usage', 'variables', 'domain', 'settings'] as const
  ).filter((key) => changes || !tabs_of_changes.includes(key));
  const tabs = shown.map((key) => ({
    key,
    name: t.deployment.tabs[key],
    href: key === 'overview' ? `/deployments/${id}` : `/deployments/${id}/${key}`,
  }));
  return (
    <Page
      title={name}
      {...(tab === 'overview' ? {} : { part: t.deployment.tabs[tab as 'logs'] ?? '' })}
      crumbs={[[t.menu.deployments, '/']]}
      badge={
        <span role="status">
          <StatusBadge deployment={deployment} />
        </span>
      }
      below={
        <div class="row tight small soft">
          <a href={deployment.url} target="_blank" rel="noopener" class="break">
            {deployment.url}
          </a>
          {deployment.phase && is_busy(deployment) && <span>· {deployment.phase}</span>}
          {deployment.resized && !is_busy(deployment) && <span>· {t.deployment.resized[deployment.resized]}</span>}
        </div>
      }
      actions={
        changes && (
          <>
            {stopped ? (
              <Button kinds={['main-action']} icon="play" onClick={() => ask('start')}>
                {t.deployment.start}
              </Button>
            ) : (
              <Button icon="restart" onClick={() => ask('restart')}>
                {t.deployment.restart}
              </Button>
            )}
            {!stopped && (
              <Button icon="stop" onClick={() => ask('stop')}>
                {t.deployment.stop}
              </Button>
            )}
            <Menu
              label={t.deployment.more}
              items={[
                ...(previous
                  ? [
                      {
                        name: t.history.back_to(short_image(previous.line.details.image ?? '')),
                        icon: 'back' as const,
                        run: () => ask('rollback'),
                      },
                    ]
                  : []),
                { name: t.deployment.delete, icon: 'trash', danger: true, run: () => ask('delete') },
              ]}
            />
          </>
        )
      }>
      {!changes && (
        <Banner kind="info">
          <p>{t.roles.needs(t.roles.names.developer, t.roles.names[own_role])}</p>
        </Banner>
      )}
      {has_failed(deployment) ? (
        <FailureBanner deployment={deployment} entries={entries.value} instances={instances} />
      ) : (
        <ReasonBanner deployment={deployment} />
      )}
      <Tabs label={t.deployment.tabs.label} tabs={tabs} current={tab} />
      {tab === 'overview' && <OverviewTab deployment={deployment} entries={entries} instances={instances} />}
      {tab === 'logs' && <LogTab deployment={deployment} instances={instances} />}
      {changes && tab === 'terminal' && <LazyTerminal deployment={deployment} instances={instances} />}
      {tab === 'history' && <HistoryTab deployment={deployment} entries={entries} />}
      {tab === 'builds' && <LazyBuilds deployment={deployment} />}
      {tab === 'runs' && <LazyRuns deployment={deployment} />}
      {tab === 'usage' && <LazyUsage deployment={deployment} />}
      {changes && tab === 'variables' && <VariablesTab deployment={deployment} />}
      {changes && tab === 'domain' && <DomainTab deployment={deployment} />}
      {changes && tab === 'settings' && <SettingsTab deployment={deployment} onDelete={() => ask('delete')} />}
      {asking === 'start' && (
        <ConfirmCharge
          deployment={deployment}
          title={t.deployment.start_title(name)}
          action={t.deployment.start}
          onClose={() => ask(null)}
          run={restart}>
          <p>{t.deployment.start_text}</p>
        </ConfirmCharge>
      )}
      {asking === 'restart' && (
        <ConfirmCharge
          deployment={deployment}
          title={t.deployment.restart_title(name)}
          action={t.deployment.restart}
          onClose={() => ask(null)}
          run={restart}>
          <p>{t.deployment.restart_text}</p>
        </ConfirmCharge>
      )}
      {asking === 'stop' && (
        <Confirm
          title={t.deployment.stop_title(name)}
          action={t.deployment.stop}
          danger
          onClose={() => ask(null)}
          run={async () => {
            put((await call('post', '/api/deploy/apps/{id}/stop', at)).deployment);
          }}>
          <p>{t.deployment.stop_text}</p>
        </Confirm>
      )}
      {asking === 'rollback' && previous && (
        <Rollback
          deployment={deployment}
          to={previous.line}
          undone={previous.undone}
          onClose={() => ask(null)}
          onDone={entries.again}
        />
      )}
      {asking === 'delete' && (
        <Confirm
          title={t.deployment.delete_title(name)}
          action={t.deployment.delete}
          danger
          word={name}
          onClose={() => ask(null)}
          run={async () => {
            await call('delete', '/api/deploy/apps/{id}', at);
            go('/');
            forget(id);
            note(t.deployment.deleted(name));
          }}>
          <p>{t.deployment.delete_text}</p>
        </Confirm>
      )}
    </Page>
  );
}

export function DeploymentScreen({ id, tab }: { id: string; tab: string }) {
  const deployment = deployments.value?.[id];
  // A full object has fields that the events don't: the node, when it was deployed, the names of variables. The list has
  // full objects, so that nothing is read until an event has come.
  const seen = news_of(id);
  useEffect(() => {
    if (seen && deployment?.status === 'running')
      void call('get', '/api/deploy/apps/{id}', { path: { id }, app: deployment.app_id }).then(
        (answer) => put(answer.deployment),
        () => {},
      );
  }, [!!seen, deployment?.status, deployment?.reason]);
  if (deployment) return <Loaded deployment={deployment} tab={tab} />;
  if (!complete.value)
    return (
      <div class="page">
        <Card>
          <Bones />
        </Card>
      </div>
    );
  return (
    <Page title={t.deployment.gone} crumbs={[[t.menu.deployments, '/']]}>
      <Card>
        <Empty
          icon="deployments"
          title={t.lost.again}
          text={able.value.length ? t.deployment.gone_text : t.overview.not_able_text}>
          <LinkButton href="/" kinds={['main-action']}>
            {t.lost.back}
          </LinkButton>
        </Empty>
      </Card>
    </Page>
  );
}
