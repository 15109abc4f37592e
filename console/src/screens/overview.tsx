// The first screen: all deployments, and the first steps of somebody new.
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { Icon } from '../components/icons';
import { LazyInvitations } from '../components/lazy';
import { note } from '../components/notes';
import { Bones, Button, Card, Empty, Failed, LinkButton, Page } from '../components/ui';
import {
  able,
  complete,
  type Deployment,
  deployments,
  invitations,
  listed,
  live,
  load,
  own_apps,
  problem,
  serves_domains,
} from '../data';
import { t } from '../messages';
import { me, reload_me } from '../session';
import { has_sample, run_sample, sample_waits, type SampleStep, usable_tiers } from '../start';
import { DeploymentsTable } from './deployments_table';

const dismissed_key = 'berth.first-steps';

// The sample app in one click. If an admin has to approve the app first, it goes on by itself after that.
function Sample() {
  const [, go] = useLocation();
  const [step, set] = useState<SampleStep | null>(null);
  const [failed, fail] = useState('');
  async function run() {
    fail('');
    try {
      const made = await run_sample(set);
      if (made === 'costs') {
        note(t.create.sample_costs);
        go('/new');
      } else if (made) go(`/deployments/${made.id}`);
      else note(t.create.awaiting);
    } catch (failure) {
      fail((failure as Error).message);
    }
    set(null);
  }
  useEffect(() => {
    if (sample_waits.value && able.value.length > 0) void run();
  }, [able.value.length]);
  return (
    <>
      <Button icon="play" busy={!!step} onClick={() => void run()}>
        {step ? t.create.sample_steps[step] : t.create.sample}
      </Button>
      {failed && (
        <p class="wrong" role="alert">
          {failed}
        </p>
      )}
    </>
  );
}

// The sample is for those who have nothing yet: it takes the place of the free deployment.
function RunButtons() {
  return (
    <div class="row tight">
      <LinkButton href="/new" kinds={['main-action']} icon="plus">
        {t.overview.run}
      </LinkButton>
      {has_sample() && listed.value.length === 0 && <Sample />}
    </div>
  );
}

// A domain is offered where the platform serves them and a tier that the account may use has it.
const may_have_domain = () =>
  serves_domains.value &&
  (usable_tiers() ?? []).some(
    (tier) =>
      tier.custom_domain_allowed && (tier.auto_approve || able.value.some((app) => app.promoted_tier === tier.slug)),
  );
// A step is done by what has succeeded, not by what was tried.
const has_run = (d: Deployment) => d.status === 'running' || (d.status === 'stopped' && !!d.deployed_at);
const is_served = (d: Deployment) => !!d.custom_domain && !!d.url && new URL(d.url).hostname === d.custom_domain;

// The first steps check themselves off by what the account has.
function FirstSteps({ hide }: { hide: () => void }) {
  useEffect(() => void reload_me().catch(() => {}), []);
  const all = listed.value;
  const own_app = able.value[0] ?? own_apps.value[0];
  const steps = [
    {
      done: me.value!.email_verified,
      ...t.first_steps.account,
      go: (
        <a class="button main-action" href="/verify-email?next=/console">
          {t.first_steps.account.action}
        </a>
      ),
    },
    ...(own_app
      ? [
          {
            done: able.value.length > 0,
            ...t.first_steps.approval,
            ...(sample_waits.value ? { text: t.create.sample_awaits } : {}),
            go: (
              <div class="row tight">
                <LinkButton href={`/apps/${own_app.id}`}>{t.first_steps.approval.action}</LinkButton>
                <LinkButton href="/new" kinds={['main-action']}>
                  {t.overview.run}
                </LinkButton>
              </div>
            ),
          },
        ]
      : []),
    {
      done: all.some(has_run),
      ...t.first_steps.deployment,
      ...(own_app ? {} : { text: `${t.first_steps.deployment.text} ${t.create.approval_first}` }),
      go: <RunButtons />,
    },
    ...(may_have_domain()
      ? [
          {
            done: all.some(is_served),
            ...t.first_steps.domain,
            go: (
              <LinkButton href={all[0] ? `/deployments/${all[0].id}/domain` : '/new'} kinds={['main-action']}>
                {t.first_steps.domain.action}
              </LinkButton>
            ),
          },
        ]
      : []),
  ];
  if (steps.every((step) => step.done)) return null;
  const next = steps.findIndex((step) => !step.done);
  return (
    <Card
      title={t.first_steps.heading}
      actions={
        <div class="row tight">
          <span class="small faint">{t.first_steps.count(steps.filter((s) => s.done).length, steps.length)}</span>
          <Button slim kinds={['plain']} icon="close" label={t.first_steps.hide} onClick={hide} />
        </div>
      }>
      <ol class="checks">
        {steps.map((step, index) => (
          <li key={step.title} class={step.done ? 'done' : ''} aria-current={index === next ? 'step' : undefined}>
            <span class="mark" aria-hidden="true">
              {step.done ? <Icon name="check" size={14} /> : index + 1}
            </span>
            <span class="what">
              {step.title}
              {step.done && <span class="unseen"> ({t.first_steps.done})</span>}
            </span>
          </li>
        ))}
      </ol>
      <div class="next row apart">
        <p class="soft">{steps[next]!.text}</p>
        {steps[next]!.go}
      </div>
    </Card>
  );
}

// The first steps lead on by themselves as long as they are shown.
function EmptyOverview({ led }: { led: boolean }) {
  const waits = !!own_apps.value.length && !able.value.length;
  return (
    <Empty
      icon={waits ? 'key' : 'deployments'}
      title={waits ? t.overview.not_able : t.overview.nothing}
      text={waits ? t.overview.not_able_text : t.overview.nothing_text}>
      {!led && <RunButtons />}
    </Empty>
  );
}

export function OverviewScreen() {
  const [led, lead] = useState(() => localStorage.getItem(dismissed_key) !== me.value!.id);
  const hide = () => {
    localStorage.setItem(dismissed_key, me.value!.id);
    lead(false);
  };
  const all = listed.value;
  const troubled = all.filter((d) => d.status === 'errored').length;
  return (
    <Page
      title={t.overview.heading}
      below={
        all.length > 0 || !complete.value ? (
          <p class="soft">
            {complete.value ? t.overview.summary(all.length, troubled) : t.frame.loading}
            {complete.value && !live.value && <span class="faint"> · {t.overview.not_live}</span>}
          </p>
        ) : undefined
      }
      actions={
        deployments.value &&
        (all.length > 0 || !led) && (
          <LinkButton href="/new" kinds={['main-action']} icon="plus">
            {t.overview.create}
          </LinkButton>
        )
      }>
      {problem.value && <Failed error={problem.value} again={load} />}
      {invitations.value.length > 0 && <LazyInvitations />}
      {deployments.value && led && <FirstSteps hide={hide} />}
      {!deployments.value ? (
        !problem.value && (
          <div class="card">
            <div class="body">
              <Bones />
            </div>
          </div>
        )
      ) : all.length === 0 ? (
        <section class="card">
          <EmptyOverview led={led} />
        </section>
      ) : (
        <DeploymentsTable />
      )}
    </Page>
  );
}
