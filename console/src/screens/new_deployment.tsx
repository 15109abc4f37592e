// Creating a deployment: what to run, what it costs, then the screen of the deployment, which shows the steps live.
import { useLocation } from 'wouter-preact';
import { ApiError, type Body, call } from '../api';
import { type FieldOf, Form, useDraft } from '../components/form';
import { useReading } from '../components/use';
import { Banner, Bones, Card, Empty, LinkButton, Page } from '../components/ui';
import { able, apps, deployments, put, type Tier, tiers } from '../data';
import { memory, number } from '../format';
import { t } from '../messages';
import { simulated } from '../session';
import { container_fields, type Sandbox, tier_field, usable_tiers, variables_field } from './deployment_fields';

type Creation = Body<'post', '/api/deploy/apps'> & { app: string };

const default_port = 3000;
const samples = ['docker.io/library/hello:1', 'docker.io/library/crash:1', 'docker.io/library/talking:1'];
const most_in_name = 32; // characters

// A name for what the image is: ghcr.io/acme/web:1 is called web.
const name_of = (image: string) =>
  (image.split('/').at(-1) ?? '')
    .replace(/[:@].*$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, most_in_name);

async function balance_of(app: string): Promise<number | null> {
  try {
    return (await call('get', '/api/external/app/balance', { app })).balance;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return null;
    throw error;
  }
}

// The tier that is chosen at first: the free one where the app may have it.
const first_tier = (free: Sandbox | null) =>
  free && usable_tiers()?.find((tier) => (tier.slug === free.tier) === free.eligible)?.slug;

function fields_of(chosen: Tier | undefined, free: Sandbox | null): FieldOf<Creation>[] {
  const domain_hint = chosen && !chosen.custom_domain_allowed ? t.create.no_domain(chosen.name) : t.create.domain_hint;
  const host =
    deployments.value &&
    Object.values(deployments.value)[0]
      ?.url?.replace(/^https?:\/\/[^.]+/, '')
      .replace(/\/$/, '');
  const [image, ...others] = container_fields;
  const is_first = (field: FieldOf<Creation>) => field.card === image!.card;
  return [
    ...(able.value.length > 1
      ? [
          {
            name: 'app',
            label: t.create.app,
            kind: 'choice',
            choices: able.value.map((one) => [one.id, one.app_name] as const),
            card: t.create.what,
          } as const,
        ]
      : []),
    {
      ...image!,
      ...(simulated.value
        ? { samples, placeholder: samples[0]!, hint: t.create.image_simulated }
        : { placeholder: 'ghcr.io/you/app:1.0', hint: t.create.image_hint }),
    },
    {
      name: 'name',
      label: t.create.name,
      kind: 'short',
      hint: t.create.name_hint,
      required: true,
      most: most_in_name,
      affix: host || undefined,
      errors: ['subdomain_taken'],
      card: t.create.what,
    },
    ...others.filter(is_first),
    { ...tier_field(free), card: t.create.size },
    { ...variables_field, hint: t.variables.sealed, card: t.variables.heading },
    {
      name: 'custom_domain',
      label: t.create.domain,
      hint: domain_hint,
      placeholder: 'www.example.com',
      disabled: !!chosen && !chosen.custom_domain_allowed,
      errors: ['domain_taken'],
      card: t.create.more,
    },
    ...others.filter((field) => !is_first(field)),
    {
      name: 'registry_credentials.username',
      label: t.create.username,
      kind: 'short',
      hint: t.create.credentials_hint,
      card: t.create.more,
    },
    {
      name: 'registry_credentials.password',
      label: t.create.password,
      kind: 'password',
      autocomplete: 'new-password',
      card: t.create.more,
    },
  ];
}

function NewDeployment() {
  const [, go] = useLocation();
  const draft = useDraft();
  const typed = draft[0] as { app?: string; image?: string; tier?: string };
  const app = typed.app ?? able.value[0]!.id;
  const balance = useReading(() => balance_of(app), [app]);
  const free = useReading(() => call('get', '/api/deploy/sandbox-status', { app }), [app]);
  const tier = typed.tier ?? first_tier(free.value);
  const chosen = tiers.value?.find((one) => one.slug === tier);
  const price = chosen?.monthly_cost_points ?? 0;
  const missing = balance.value === null ? 0 : price - balance.value;
  return (
    <Form<Creation>
      draft={draft}
      fields={fields_of(chosen, free.value)}
      values={{ app, name: name_of(typed.image ?? ''), tier, port: default_port }}
      aside={t.create.cost}
      action={t.create.submit}
      acting={t.create.sending}
      run={async ({ app: _, ...body }, once) => {
        const answer = await call('post', '/api/deploy/apps', { app, once, body });
        put(answer.deployment);
        go(`/deployments/${answer.id}`);
      }}>
      {chosen ? (
        <div class="sum">
          <div>
            <span class="soft">{chosen.name}</span>
            <span>{memory(chosen.memory_limit_mb)}</span>
          </div>
          <div>
            <span class="soft">{t.create.now}</span>
            <span class="number">{t.points(price)}</span>
          </div>
          {balance.value !== null && (
            <div>
              <span class="soft">{t.create.balance}</span>
              <span class="number">{t.points(balance.value)}</span>
            </div>
          )}
          <div class="total">
            <span>{t.create.each_period}</span>
            <span class="number">{price === 0 ? t.create.free : t.points(price)}</span>
          </div>
        </div>
      ) : (
        <Bones />
      )}
      {missing > 0 && (
        <Banner kind="warn">
          <p>{t.create.short(number(missing))}</p>
        </Banner>
      )}
      <p class="small faint">{t.create.refund}</p>
    </Form>
  );
}

export function NewDeploymentScreen() {
  return (
    <Page title={t.create.heading} crumbs={[[t.menu.deployments, '/']]}>
      {!apps.value || !deployments.value ? (
        <Card>
          <Bones />
        </Card>
      ) : able.value.length === 0 ? (
        <Card>
          <Empty
            icon="key"
            title={t.overview.not_able}
            text={apps.value.length ? t.overview.not_able_text : t.overview.no_app_text}>
            <LinkButton href={apps.value[0] ? `/apps/${apps.value[0].id}` : '/apps/new'} kinds={['main-action']}>
              {apps.value.length ? t.overview.see_app : t.apps.create}
            </LinkButton>
          </Empty>
        </Card>
      ) : (
        <NewDeployment />
      )}
    </Page>
  );
}
