// Creating a deployment: what to run, what it costs, then the screen of the deployment, which shows the steps live. The app
// that it belongs to is made on the way, for somebody who has none.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { type Answer, type Body, call } from '../api';
import { AskTier } from '../components/ask_tier';
import { type FieldOf, Form, useDraft } from '../components/form';
import { note } from '../components/notes';
import { missing_of, TooFew } from '../components/sum';
import { useReading } from '../components/use';
import { Banner, Bones, Button, Card, Page } from '../components/ui';
import { able, app_of, apps, deployments, may_deploy, offer, put, serves_domains, type Tier, tiers } from '../data';
import { memory, number } from '../format';
import { normalized_image } from '../images';
import { t } from '../messages';
import { me, simulated } from '../session';
import { app_to_deploy, default_port, first_tier, type Sandbox } from '../start';
import { useBalance } from './balance';
import { container_fields, tier_field, variables_field } from './deployment_fields';
import { most_containers } from './deployment_price';

type Creation = Body<'post', '/api/deploy/apps'> & { app: string; app_name: string };
type NameAnswer = Answer<'get', '/api/deploy/names/{name}'>;

const samples = ['docker.io/library/hello:1', 'docker.io/library/crash:1', 'docker.io/library/talking:1'];
const most_in_name = 32; // characters
const most_in_app_name = 80;
const until_asked = 300; // ms after the last letter of a name

// A name for what the image is: ghcr.io/acme/web:1 is called web.
const name_of = (image: string) =>
  (normalized_image(image).split('/').at(-1) ?? '')
    .replace(/[:@].*$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, most_in_name)
    .replace(/^-+|-+$/g, '');

const is_name = (name: string) => /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name);
const address_of = (name: string) => (offer.value?.address ?? '{name}').replace('{name}', name);

// What berthd says about a name, a moment after it was typed.
function useName(name: string): NameAnswer | null {
  const [said, say] = useState<NameAnswer | null>(null);
  useEffect(() => {
    if (!is_name(name) || !me.value!.email_verified) return;
    let is_old = false;
    const timer = setTimeout(() => {
      call('get', '/api/deploy/names/{name}', { path: { name } }).then(
        (answer) => is_old || say(answer),
        () => {}, // the creation says so, too
      );
    }, until_asked);
    return () => {
      is_old = true;
      clearTimeout(timer);
    };
  }, [name]);
  return said?.name === name ? said : null;
}

interface Shown {
  chosen: Tier | undefined;
  free: Sandbox | null;
  app: string | undefined; // none yet: one is made
  image: string;
  name: string;
  said: NameAnswer | null;
  take: (name: string) => void;
}

function fields_of({ chosen, free, app, image, name, said, take }: Shown): FieldOf<Creation>[] {
  const domain_refusal =
    serves_domains.value === false
      ? t.domain.not_here_text
      : chosen && !chosen.custom_domain_allowed && t.create.no_domain(chosen.name);
  const [first, ...others] = container_fields;
  const is_first = (field: FieldOf<Creation>) => field.card === first!.card;
  const full = normalized_image(image);
  const registries = (offer.value?.registries ?? []).join(', ');
  const own = app ? app_of(app) : undefined;
  const tier = tier_field(free, own);
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
      ...first!,
      placeholder: simulated.value ? samples[0]! : 'ghcr.io/you/app:1.0',
      ...(simulated.value ? { samples } : {}),
      hint:
        full && full !== image.trim()
          ? t.create.image_read_as(full)
          : simulated.value
            ? t.create.image_simulated
            : t.create.image_hint(registries),
    },
    {
      name: 'name',
      label: t.create.name,
      kind: 'short',
      required: true,
      most: most_in_name,
      errors: ['subdomain_taken'],
      check: (text: string) =>
        !is_name(text) ? t.create.bad_name : said && !said.available ? t.create.choose_free : undefined,
      hint: !is_name(name) ? (
        t.create.name_hint
      ) : said?.proposal ? (
        <span class="row tight">
          <span>{t.create.taken(name)}</span>
          <Button slim onClick={() => take(said.proposal!)}>
            {t.create.take(said.proposal)}
          </Button>
        </span>
      ) : (
        <span class="break">{t.create.address(said?.url ?? address_of(name))}</span>
      ),
      card: t.create.what,
    },
    ...others.filter(is_first),
    ...(app
      ? []
      : [
          {
            name: 'app_name',
            label: t.create.new_app,
            kind: 'short',
            hint: t.create.new_app_hint,
            required: true,
            most: most_in_app_name,
            card: t.create.what,
          } as const,
        ]),
    { ...tier, hint: own ? <AskTier app={own} /> : undefined, card: t.create.size },
    { ...variables_field, hint: t.variables.sealed, card: t.variables.heading },
    {
      name: 'custom_domain',
      label: t.create.domain,
      hint: domain_refusal || t.create.domain_hint,
      placeholder: 'www.example.com',
      disabled: !!domain_refusal,
      errors: ['domain_taken'],
      card: t.create.more,
    },
    ...others.filter((field) => !is_first(field)),
    {
      name: 'registry_credentials.username',
      label: t.create.username,
      kind: 'short',
      hint: t.create.credentials_hint,
      check: (_, all) => (all['registry_credentials.password'] ? undefined : t.create.both_credentials),
      card: t.create.more,
    },
    {
      name: 'registry_credentials.password',
      label: t.create.password,
      kind: 'password',
      autocomplete: 'new-password',
      check: (_, all) => (all['registry_credentials.username'] ? undefined : t.create.both_credentials),
      card: t.create.more,
    },
  ];
}

function NewDeployment() {
  const [, go] = useLocation();
  const draft = useDraft('new deployment');
  const [entered, enter, forget] = draft;
  const typed = entered as { app?: string; image?: string; name?: string; tier?: string };
  const app = typed.app ?? able.value[0]?.id;
  const balance = useBalance(app);
  const free = useReading(async () => (app ? call('get', '/api/deploy/sandbox-status', { app }) : null), [app]);
  const tier = typed.tier ?? (free.done ? first_tier(free.value) : undefined);
  const chosen = tiers.value?.find((one) => one.slug === tier);
  const containers = most_containers(entered as Parameters<typeof most_containers>[0]);
  const price = (chosen?.monthly_cost_points ?? 0) * containers;
  const missing = missing_of({ now: price, balance });
  const image = typed.image ?? '';
  const name = (typed.name ?? name_of(image)).trim();
  const said = useName(name);
  // What waits for an admin's approval of the app.
  const [waiting, wait] = useState(false);
  const waits = useRef<{ body: Creation; once: string } | null>(null);
  async function create({ app: _, app_name, ...body }: Creation, once: string) {
    const of = app ? { id: app } : await app_to_deploy(app_name);
    const is_allowed_to = may_deploy(app_of(of.id)!);
    waits.current = is_allowed_to ? null : { body: { app: of.id, app_name, ...body }, once };
    wait(!is_allowed_to);
    if (!is_allowed_to) return;
    const answer = await call('post', '/api/deploy/apps', { app: of.id, once, body });
    put(answer.deployment);
    forget();
    go(`/deployments/${answer.id}`);
  }
  useEffect(() => {
    const then = waits.current;
    if (then && able.value.length > 0) create(then.body, then.once).catch((failure) => note(failure.message));
  }, [able.value.length]);
  if (!me.value!.email_verified)
    return (
      <Banner kind="info" title={t.create.unverified}>
        <p>{t.create.unverified_text}</p>
        <a class="button main-action" href="/verify-email?next=/console/new">
          {t.create.verify}
        </a>
      </Banner>
    );
  return (
    <Form<Creation>
      draft={[entered, enter, () => {}]}
      focus
      fields={fields_of({
        chosen,
        free: free.value,
        app,
        image,
        name,
        said,
        take: (free_one) => enter((before) => ({ ...before, name: free_one })),
      })}
      values={{
        app,
        app_name: t.create.app_proposed(me.value!.username),
        name: name_of(image),
        tier,
        port: default_port,
      }}
      aside={t.create.cost}
      action={t.create.submit}
      acting={t.create.sending}
      disabled={missing > 0}
      run={create}>
      {chosen ? (
        <div class="sum">
          <div>
            <span class="soft">{chosen.name}</span>
            <span>{memory(chosen.memory_limit_mb)}</span>
          </div>
          {containers > 1 && (
            <div>
              <span class="soft">{t.create.containers}</span>
              <span class="number">{number(containers)}</span>
            </div>
          )}
          <div>
            <span class="soft">{t.create.now}</span>
            <span class="number">{t.points(price)}</span>
          </div>
          {typeof balance === 'number' && (
            <div>
              <span class="soft">{t.create.balance}</span>
              <span class="number">{t.points(balance)}</span>
            </div>
          )}
          <div class="total">
            <span>{t.create.each_period}</span>
            <span class="number">{price === 0 ? t.create.free : t.points(price)}</span>
          </div>
          {!!chosen.points_per_hour && (
            <div>
              <span>{t.create.each_hour}</span>
              <span class="number">{t.points(chosen.points_per_hour * containers)}</span>
            </div>
          )}
        </div>
      ) : (
        <Bones />
      )}
      {waiting && (
        <Banner kind="info" title={t.create.awaiting}>
          <p>{t.create.awaiting_text}</p>
        </Banner>
      )}
      {missing > 0 && <TooFew app={app}>{t.create.short(number(missing))}</TooFew>}
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
      ) : (
        <NewDeployment />
      )}
    </Page>
  );
}
