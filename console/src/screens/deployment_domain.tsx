// A deployment's custom domain: the records to set, and how far it is.
import { useState } from 'preact/hooks';
import { ApiError, call } from '../api';
import { Confirm, type FieldOf, Form } from '../components/form';
import { note } from '../components/notes';
import { Banner, Bones, Button, Card, Copy, Empty, Failed, LinkButton, Time } from '../components/ui';
import { useReading } from '../components/use';
import { change, type Deployment, news, serves_domains, tiers } from '../data';
import { t } from '../messages';
import { useCostIfUnpaid } from './deployment_price';

const fields: FieldOf<{ custom_domain: string }>[] = [
  {
    name: 'custom_domain',
    label: t.domain.name,
    hint: t.domain.hint,
    placeholder: 'www.example.com',
    required: true,
    errors: ['domain_taken'],
  },
];

async function state_of(deployment: Deployment) {
  try {
    return await call('get', '/api/deploy/apps/{id}/domain', { path: { id: deployment.id }, app: deployment.app_id });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

const marks = { waiting_for_dns: 'warn', issuing: 'busy', active: 'good', failed: 'bad' } as const;

function Claimed({ deployment }: { deployment: Deployment }) {
  const [releasing, release] = useState(false);
  const cost = useCostIfUnpaid(deployment);
  // The domain's changes come as events of the deployment, so nothing polls.
  const { value, error, again } = useReading(
    () => state_of(deployment),
    [deployment.id, deployment.custom_domain, news.value[deployment.id]],
  );
  async function look_now() {
    try {
      await change(deployment, { custom_domain: deployment.custom_domain! });
      note(t.domain.looking);
      again();
    } catch (failure) {
      note((failure as ApiError).message);
    }
  }
  if (error) return <Failed error={error} again={again} />;
  if (!value)
    return (
      <Card>
        <Bones />
      </Card>
    );
  const why = value.reason && t.domain_reasons[value.reason];
  return (
    <>
      {why && (
        <Banner kind={value.state === 'failed' ? 'bad' : 'warn'} title={why.title}>
          <p>{why.fix}</p>
          {value.message && <p class="small soft">{value.message}</p>}
        </Banner>
      )}
      <Card
        title={value.domain}
        actions={<span class={`badge ${marks[value.state]}`}>{t.domain.states[value.state]}</span>}
        footer={
          <div class="row apart">
            <span class="small faint">
              {value.last_checked_at ? (
                <>
                  {t.domain.checked} <Time at={value.last_checked_at} />
                </>
              ) : (
                t.domain.not_checked
              )}
              {value.expires_at && (
                <>
                  {' '}
                  · {t.domain.expires} <Time at={value.expires_at} />
                </>
              )}
            </span>
            <span class="row tight">
              <Button slim icon="restart" onClick={look_now}>
                {t.domain.check_now}
              </Button>
              <Button slim kinds={['danger']} icon="trash" onClick={() => release(true)}>
                {t.domain.release}
              </Button>
            </span>
          </div>
        }
        bare>
        <div class="scroll" tabIndex={0} role="region" aria-label={t.domain.records}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.domain.type}</th>
                <th scope="col">{t.domain.record_name}</th>
                <th scope="col">{t.domain.value}</th>
              </tr>
            </thead>
            <tbody>
              {value.records.map((record) => (
                <tr key={record.type + record.value}>
                  <td>
                    <span class="tag mono">{record.type}</span>
                  </td>
                  <td>
                    <Copy text={record.name} label={t.domain.record_name} />
                  </td>
                  <td>
                    <Copy text={record.value} label={t.domain.value} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
      {value.txt_reason && <p class="soft small">{t.domain.txt[value.txt_reason]}</p>}
      {releasing && (
        <Confirm
          title={t.domain.release_title(value.domain)}
          action={t.domain.release}
          danger
          onClose={() => release(false)}
          cost={() => cost}
          run={() => change(deployment, { custom_domain: null })}>
          <p>{t.domain.release_text}</p>
        </Confirm>
      )}
    </>
  );
}

export function DomainTab({ deployment }: { deployment: Deployment }) {
  const cost = useCostIfUnpaid(deployment);
  if (deployment.custom_domain) return <Claimed deployment={deployment} />;
  // Said before a tier with domains is paid for.
  if (serves_domains.value === false)
    return (
      <section class="card">
        <Empty icon="out" title={t.domain.not_here} text={t.domain.not_here_text} />
      </section>
    );
  const tier = tiers.value?.find((one) => one.slug === deployment.tier);
  if (tier && !tier.custom_domain_allowed)
    return (
      <section class="card">
        <Empty icon="out" title={t.domain.not_on(tier.name)} text={t.domain.not_on_text}>
          <LinkButton href={`/deployments/${deployment.id}/settings#tier`} kinds={['main-action']}>
            {t.domain.change_tier}
          </LinkButton>
        </Empty>
      </section>
    );
  return (
    <Card title={t.domain.heading}>
      <Form fields={fields} action={t.domain.add} cost={() => cost} run={(body) => change(deployment, body)} />
    </Card>
  );
}
