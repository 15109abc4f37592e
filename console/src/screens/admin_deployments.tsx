// For admins: the deployments of all apps, and one of them with what can be done about it.
import { useState } from 'preact/hooks';
import { useSearch } from 'wouter-preact';
import { call } from '../api';
import { type FieldOf, Filter } from '../components/form';
import { note } from '../components/notes';
import { explain, StatusBadge } from '../components/status';
import { Read } from '../components/table';
import { Banner, Button, Card, Copy, Page, Time } from '../components/ui';
import { useReading } from '../components/use';
import { tier_name, tiers } from '../data';
import { cpu, date, exact, memory } from '../format';
import { t } from '../messages';
import { may } from '../session';
import { ActsOn, AppLink, Ask, BillingBadge, DeploymentList, Gone, Refund, UserLink } from './admin_parts';
import { HistoryRow } from './deployment_history';
import { lines_of } from './rollouts';

interface Filtered {
  q: string;
  status: string;
  tier: string;
  billing: string;
}
const any = ['', t.admin.any] as const;
const fields_of = (): FieldOf<Filtered>[] => [
  { name: 'q', label: t.admin.find_deployment, placeholder: t.admin.find_deployment_hint },
  {
    name: 'status',
    label: t.webhooks.state,
    kind: 'choice',
    choices: [
      any,
      ...(['running', 'errored', 'deploying', 'pending', 'stopped'] as const).map(
        (one) => [one, t.status[one]] as const,
      ),
    ],
  },
  {
    name: 'tier',
    label: t.deployment.tier,
    kind: 'choice',
    choices: [any, ...(tiers.value ?? []).map((tier) => [tier.slug, tier.name] as const)],
  },
  {
    name: 'billing',
    label: t.billing.heading,
    kind: 'choice',
    choices: [any, ...Object.entries(t.billing.states)],
  },
];

export function AdminDeployments() {
  const asked = Object.fromEntries(new URLSearchParams(useSearch())) as Partial<Filtered>;
  const [filter, set] = useState<Partial<Filtered>>(asked);
  return (
    <>
      <section class="card">
        <Filter fields={fields_of()} values={asked} action={t.admin.find_in_audit} onFilter={set} />
      </section>
      <DeploymentList key={JSON.stringify(filter)} title={t.menu.deployments} query={filter} />
    </>
  );
}

export function AdminDeployment({ id }: { id: string }) {
  const [asking, ask] = useState<'suspend' | 'reactivate' | 'refund' | null>(null);
  const [round, next] = useState(0);
  const page = useReading(
    () => call('get', '/api/internal/deploy/apps/{deployment_id}', { path: { deployment_id: id } }),
    [id, round],
  );
  const again = () => next(round + 1);
  const at = { path: { deployment_id: id } };
  if (page.error?.status === 404) return <Gone title={t.deployment.gone} />;
  return (
    <Read of={page}>
      {({ deployment, billing, refundable, logs }) => {
        const name = deployment.name ?? deployment.subdomain;
        const why = explain(deployment);
        return (
          <>
            <Page
              title={name}
              crumbs={[
                [t.admin.heading, '/admin'],
                [t.menu.deployments, '/admin/deployments'],
              ]}
              badge={
                <>
                  <StatusBadge deployment={deployment} />
                  {deployment.suspended && <span class="badge bad">{t.admin.suspended}</span>}
                </>
              }
              below={
                <a href={deployment.url} target="_blank" rel="noopener" class="small break">
                  {deployment.url}
                </a>
              }
              actions={
                deployment.status !== 'destroyed' && (
                  <>
                    {may('support') &&
                      (deployment.suspended ? (
                        <Button icon="play" onClick={() => ask('reactivate')}>
                          {t.admin.reactivate}
                        </Button>
                      ) : (
                        <Button kinds={['danger']} icon="stop" onClick={() => ask('suspend')}>
                          {t.admin.suspend}
                        </Button>
                      ))}
                    {refundable > 0 && (
                      <Button icon="points" onClick={() => ask('refund')}>
                        {t.admin.refund}
                      </Button>
                    )}
                  </>
                )
              }>
              {why && (
                <Banner kind={deployment.status === 'running' ? 'warn' : 'bad'} title={why.title}>
                  {deployment.message && (
                    <pre tabIndex={0} aria-label={t.deployment.words}>
                      {deployment.message}
                    </pre>
                  )}
                </Banner>
              )}
              <div class="columns">
                <div class="stack wide">
                  <Card title={t.history.heading} bare>
                    <ul class="list events">
                      {lines_of(logs).map((line) => (
                        <HistoryRow key={line.entry.id} line={line} />
                      ))}
                    </ul>
                  </Card>
                  <ActsOn target={id} round={round} />
                </div>
                <div class="stack wide">
                  <Card title={t.deployment.facts}>
                    <dl class="facts">
                      <dt>{t.admin.owner}</dt>
                      <dd>
                        <UserLink id={deployment.owner_id} name={deployment.owner} />
                      </dd>
                      <dt>{t.app.one}</dt>
                      <dd>
                        <AppLink id={deployment.app_id} name={deployment.app_name} />
                      </dd>
                      <dt>{t.create.image}</dt>
                      <dd>
                        <code>{deployment.container_image}</code>
                      </dd>
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
                  <Card title={t.billing.heading} actions={<BillingBadge of={billing.billing_status} />}>
                    <div class="stack">
                      <dl class="facts">
                        <dt>{t.billing.next}</dt>
                        <dd>
                          {billing.next_renewal ? (
                            <>
                              {t.points(billing.amount)}, <Time at={billing.next_renewal} />
                            </>
                          ) : (
                            t.billing.none
                          )}
                        </dd>
                        <dt>{t.billing.balance}</dt>
                        <dd class="number">{t.points(billing.balance)}</dd>
                        <dt>{t.admin.refundable}</dt>
                        <dd class="number">{t.points(refundable)}</dd>
                        {billing.stops_at && (
                          <>
                            <dt>{t.billing.stops}</dt>
                            <dd>
                              <Time at={billing.stops_at} />
                            </dd>
                          </>
                        )}
                      </dl>
                      {billing.history.length > 0 && (
                        <ul class="stack tight small">
                          {billing.history.slice(0, 12).map((entry) => (
                            <li class="row apart" key={entry.at + entry.kind}>
                              <span title={exact(entry.at)}>
                                {date(entry.at)}, {t.billing.kinds[entry.kind]}
                              </span>
                              <span class="number">{t.points(entry.amount)}</span>
                            </li>
                          ))}
                        </ul>
                      )}
                    </div>
                  </Card>
                </div>
              </div>
            </Page>
            {asking === 'suspend' && (
              <Ask
                title={t.admin.suspend_title(name)}
                text={t.admin.suspend_deployment_text}
                action={t.admin.suspend}
                danger
                onClose={() => ask(null)}
                run={async () => {
                  await call('post', '/api/internal/deploy/apps/{deployment_id}/suspend', at);
                  again();
                }}
              />
            )}
            {asking === 'reactivate' && (
              <Ask
                title={t.admin.reactivate_title(name)}
                text={t.admin.reactivate_deployment_text}
                action={t.admin.reactivate}
                onClose={() => ask(null)}
                run={async () => {
                  await call('post', '/api/internal/deploy/apps/{deployment_id}/reactivate', at);
                  note(t.admin.deployment_reactivated(name));
                  again();
                }}
              />
            )}
            {asking === 'refund' && (
              <Refund
                id={id}
                name={name}
                most={refundable}
                balance={billing.balance}
                onClose={() => ask(null)}
                onDone={again}
              />
            )}
          </>
        );
      }}
    </Read>
  );
}
