// All custom domains, and which of them aren't served yet.
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { type FieldOf, FormDialog, useDraft } from '../components/form';
import { Table } from '../components/table';
import { Bones, Button, Card, Empty, LinkButton, Page } from '../components/ui';
import { app_of, change, complete, type Deployment, listed, serves_domains, tiers } from '../data';
import { t } from '../messages';
import { useCostIfUnpaid } from './deployment_price';

// Shows what the deployment itself says about its domain; only the deployment's page asks for the records.
function state_of({ status, reason, cause }: Deployment): { mark: string; text: string } {
  const why = [reason, cause].find(
    (one) => one === 'dns_not_pointing' || one === 'domain_taken' || one === 'certificate_failed',
  );
  if (why === 'dns_not_pointing') return { mark: 'warn', text: t.domain.states.waiting_for_dns };
  if (why) return { mark: 'bad', text: t.domain.states.failed };
  return status === 'running' ? { mark: 'good', text: t.domain.states.active } : { mark: '', text: t.status[status] };
}

function AddDomain({ to, onClose }: { to: Deployment[]; onClose: () => void }) {
  const [, go] = useLocation();
  const draft = useDraft();
  const cost = useCostIfUnpaid(to.find((one) => one.id === draft[0].id) ?? to[0]!);
  const fields: FieldOf<{ id: string; custom_domain: string }>[] = [
    {
      name: 'id',
      label: t.palette.deployment,
      kind: 'choice',
      choices: to.map((one) => [one.id, `${one.name} (${app_of(one.app_id)?.app_name})`]),
    },
    {
      name: 'custom_domain',
      label: t.domain.name,
      hint: t.domain.hint,
      placeholder: 'www.example.com',
      errors: ['domain_taken'],
    },
  ];
  return (
    <FormDialog
      title={t.domains.add}
      fields={fields}
      draft={draft}
      action={t.domains.add}
      onClose={onClose}
      cost={() => cost}
      run={async ({ id, custom_domain }) => {
        await change(
          to.find((one) => one.id === id)!,
          { custom_domain: custom_domain ?? '' },
        );
        go(`/deployments/${id}/domain`);
      }}
    />
  );
}

export function DomainsScreen() {
  const [adding, add] = useState(false);
  const all = listed.value.filter((deployment) => deployment.custom_domain);
  const allowed = new Set(tiers.value?.filter((tier) => tier.custom_domain_allowed).map((tier) => tier.slug));
  const free = listed.value.filter((deployment) => !deployment.custom_domain && allowed.has(deployment.tier ?? ''));
  const is_possible = serves_domains.value !== false;
  const button = is_possible && free.length > 0 && (
    <Button kinds={['main-action']} icon="plus" onClick={() => add(true)}>
      {t.domains.add}
    </Button>
  );
  return (
    <Page title={t.menu.domains} below={<p class="soft">{t.domains.text}</p>} actions={all.length > 0 && button}>
      {!complete.value ? (
        <Card>
          <Bones />
        </Card>
      ) : all.length === 0 ? (
        <section class="card">
          <Empty
            icon="globe"
            title={is_possible ? t.domains.none : t.domain.not_here}
            text={!is_possible ? t.domain.not_here_text : free.length ? t.domains.none_text : t.domains.none_possible}>
            {button || (
              <LinkButton href="/" kinds={['main-action']}>
                {t.menu.deployments}
              </LinkButton>
            )}
          </Empty>
        </section>
      ) : (
        <section class="card">
          <Table label={t.menu.domains} columns={[t.domain.name, t.webhooks.state, t.palette.deployment, t.app.one]}>
            {all.map((deployment) => {
              const state = state_of(deployment);
              return (
                <tr key={deployment.id}>
                  <td>
                    <Link href={`/deployments/${deployment.id}/domain`}>{deployment.custom_domain}</Link>
                  </td>
                  <td>
                    <span class={`badge ${state.mark}`}>{state.text}</span>
                  </td>
                  <td>
                    <Link href={`/deployments/${deployment.id}`}>{deployment.name}</Link>
                  </td>
                  <td class="soft">{app_of(deployment.app_id)?.app_name}</td>
                </tr>
              );
            })}
          </Table>
        </section>
      )}
      {adding && <AddDomain to={free} onClose={() => add(false)} />}
    </Page>
  );
}
