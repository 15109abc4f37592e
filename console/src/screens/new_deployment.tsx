// Creating a deployment: what to run, what it costs, then the screen of the deployment, which shows the steps live.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { ApiError, call, newKey } from '../api';
import { TierChoice } from '../components/tier_choice';
import { useReading, useSubmit } from '../components/use';
import { as_object, type Pair, parse_env, Variables } from '../components/variables';
import { Banner, Bones, Button, Card, Empty, Field, LinkButton, Page } from '../components/ui';
import { able, apps, deployments, put, tiers } from '../data';
import { memory, number } from '../format';
import { t } from '../messages';
import { simulated } from '../session';

const default_port = 3000;
const samples = ['docker.io/library/hello:1', 'docker.io/library/crash:1', 'docker.io/library/talking:1'];

// A name for what the image is: ghcr.io/acme/web:1 is called web.
const name_of = (image: string) =>
  (image.split('/').at(-1) ?? '')
    .replace(/[:@].*$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 32);

async function balance_of(app: string): Promise<number | null> {
  try {
    return (await call('get', '/api/external/app/balance', { app })).balance;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return null;
    throw error;
  }
}

function Form() {
  const [, go] = useLocation();
  const [app, choose_app] = useState(able.value[0]!.id);
  const [image, set_image] = useState('');
  const [name, set_name] = useState<string | null>(null);
  const [tier, choose_tier] = useState('');
  const [port, set_port] = useState(String(default_port));
  const [pairs, set_pairs] = useState<Pair[]>([]);
  const [pasted, paste] = useState('');
  const [health, set_health] = useState('');
  const [domain, set_domain] = useState('');
  const [username, set_username] = useState('');
  const [password, set_password] = useState('');
  const key = useMemo(newKey, [app, image, name, tier, port, pairs, pasted, health, domain, username, password]);
  const balance = useReading(() => balance_of(app), [app]);
  const free = useReading(() => call('get', '/api/deploy/sandbox-status', { app }), [app]);
  const chosen = tiers.value?.find((one) => one.slug === tier);
  const called = name ?? name_of(image);
  useEffect(() => {
    if (tier || !tiers.value || !free.value) return;
    const usable = tiers.value.filter((one) => one.payment_method === 'service_points');
    choose_tier(
      (free.value.eligible
        ? usable.find((one) => one.slug === free.value!.tier)
        : usable.find((one) => one.slug !== free.value!.tier)
      )?.slug ?? '',
    );
  }, [tiers.value, free.value]);

  const { busy, error, submit, wrong } = useSubmit(async () => {
    const env_vars = { ...as_object(parse_env(pasted)), ...as_object(pairs) };
    const answer = await call('post', '/api/deploy/apps', {
      app,
      once: key,
      body: {
        name: called,
        image: image.trim(),
        tier,
        port: Number(port) || default_port,
        env_vars,
        ...(health ? { health_path: health } : {}),
        ...(domain && chosen?.custom_domain_allowed ? { custom_domain: domain.trim() } : {}),
        ...(username || password ? { registry_credentials: { username, password } } : {}),
      },
    });
    put(answer.deployment);
    go(`/deployments/${answer.id}`);
  });

  const host =
    deployments.value &&
    Object.values(deployments.value)[0]
      ?.url?.replace(/^https?:\/\/[^.]+/, '')
      .replace(/\/$/, '');
  const price = chosen?.monthly_cost_points ?? 0;
  const short = balance.value !== null && price > balance.value;
  const shown = ['name', 'image', 'tier', 'port', 'env_vars', 'health_path', 'custom_domain', 'registry_credentials'];
  const other = error && !shown.some((field) => wrong(field)) ? error : null;
  return (
    <form onSubmit={submit} noValidate class="columns">
      <div class="stack wide">
        <Card title={t.create.what}>
          <div class="stack">
            {able.value.length > 1 && (
              <Field label={t.create.app}>
                {(field) => (
                  <select {...field} value={app} onChange={(e) => choose_app(e.currentTarget.value)}>
                    {able.value.map((one) => (
                      <option key={one.id} value={one.id}>
                        {one.app_name}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
            )}
            <Field
              label={t.create.image}
              wrong={wrong('image') ?? (error?.code === 'unsupported_registry' ? [error.message] : undefined)}
              mono
              hint={simulated.value ? t.create.image_simulated : t.create.image_hint}>
              {(field) => (
                <input
                  {...field}
                  required
                  autocomplete="off"
                  spellcheck={false}
                  list="samples"
                  placeholder={simulated.value ? samples[0] : 'ghcr.io/you/app:1.0'}
                  value={image}
                  onInput={(e) => set_image(e.currentTarget.value)}
                />
              )}
            </Field>
            {simulated.value && (
              <datalist id="samples">
                {samples.map((one) => (
                  <option key={one} value={one} />
                ))}
              </datalist>
            )}
            <div class="two">
              <Field
                label={t.create.name}
                hint={t.create.name_hint}
                wrong={wrong('name') ?? (error?.code === 'subdomain_taken' ? [error.message] : undefined)}>
                {(field) =>
                  host ? (
                    <div class="affix">
                      <input
                        {...field}
                        required
                        autocomplete="off"
                        spellcheck={false}
                        maxLength={32}
                        value={called}
                        onInput={(e) => set_name(e.currentTarget.value)}
                      />
                      <span>{host}</span>
                    </div>
                  ) : (
                    <input
                      {...field}
                      required
                      autocomplete="off"
                      spellcheck={false}
                      maxLength={32}
                      value={called}
                      onInput={(e) => set_name(e.currentTarget.value)}
                    />
                  )
                }
              </Field>
              <Field label={t.create.port} hint={t.create.port_hint} wrong={wrong('port')}>
                {(field) => (
                  <input
                    {...field}
                    inputMode="numeric"
                    autocomplete="off"
                    value={port}
                    onInput={(e) => set_port(e.currentTarget.value)}
                  />
                )}
              </Field>
            </div>
          </div>
        </Card>
        <Card title={t.create.size}>
          <TierChoice value={tier} onChange={choose_tier} free={free.value} />
          {wrong('tier') && (
            <p class="wrong" role="alert">
              {wrong('tier')!.join(' ')}
            </p>
          )}
        </Card>
        <Card title={t.variables.heading}>
          <div class="stack">
            <p class="soft small">{t.variables.sealed}</p>
            <Variables pairs={pairs} onChange={set_pairs} />
            <Field label={t.variables.paste} wrong={wrong('env_vars')}>
              {(field) => (
                <textarea
                  {...field}
                  placeholder={'LOG_LEVEL=debug\nGREETING="hello"'}
                  spellcheck={false}
                  autocomplete="off"
                  value={pasted}
                  onInput={(e) => paste(e.currentTarget.value)}
                />
              )}
            </Field>
          </div>
        </Card>
        <Card title={t.create.more}>
          <div class="stack">
            <Field
              label={t.create.domain}
              hint={chosen && !chosen.custom_domain_allowed ? t.create.no_domain(chosen.name) : t.create.domain_hint}
              wrong={wrong('custom_domain') ?? (error?.code === 'domain_taken' ? [error.message] : undefined)}>
              {(field) => (
                <input
                  {...field}
                  autocomplete="off"
                  spellcheck={false}
                  placeholder="www.example.com"
                  disabled={!!chosen && !chosen.custom_domain_allowed}
                  value={domain}
                  onInput={(e) => set_domain(e.currentTarget.value)}
                />
              )}
            </Field>
            <Field label={t.create.health} hint={t.create.health_hint} wrong={wrong('health_path')} mono>
              {(field) => (
                <input
                  {...field}
                  autocomplete="off"
                  spellcheck={false}
                  placeholder="/health"
                  value={health}
                  onInput={(e) => set_health(e.currentTarget.value)}
                />
              )}
            </Field>
            <div class="two">
              <Field label={t.create.username} hint={t.create.credentials_hint} wrong={wrong('registry_credentials')}>
                {(field) => (
                  <input
                    {...field}
                    autocomplete="off"
                    value={username}
                    onInput={(e) => set_username(e.currentTarget.value)}
                  />
                )}
              </Field>
              <Field label={t.create.password}>
                {(field) => (
                  <input
                    {...field}
                    type="password"
                    autocomplete="new-password"
                    value={password}
                    onInput={(e) => set_password(e.currentTarget.value)}
                  />
                )}
              </Field>
            </div>
          </div>
        </Card>
      </div>
      <Card title={t.create.cost}>
        <div class="stack">
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
          {short && (
            <Banner kind="warn">
              <p>{t.create.short(number(price - balance.value!))}</p>
            </Banner>
          )}
          {other && (
            <Banner kind="bad" role="alert" title={t.create.refused}>
              <p>{other.message}</p>
            </Banner>
          )}
          <Button type="submit" kinds={['main-action']} busy={busy} disabled={!image.trim() || !called || !tier}>
            {busy ? t.create.sending : t.create.submit}
          </Button>
          <p class="small faint">{t.create.refund}</p>
        </div>
      </Card>
    </form>
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
        <Form />
      )}
    </Page>
  );
}
