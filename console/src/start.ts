// The way to the first deployment: the app that it belongs to is made on the way, and the sample app is one click.
import { signal } from '@preact/signals';
import { type Answer, call, fill, newKey, send } from './api';
import { headersFor } from './begun';
import { able, type App, apps, type Deployment, load_apps, may_deploy, offer, put, type Tier, tiers } from './data';
import { automatic_scopes, t } from './messages';
import { may } from './roles';
import { me } from './session';
import { follow } from './stream';

export const no_redirects = 'http://127.0.0.1/callback';
const wanted = ['deploy:manage', 'app:balance:read'] as const;
export const default_port = 3000;

// The first app whose scopes the person may ask for.
const asking_app = () => apps.value?.find((app) => may(app, 'admin'));

// Returns the app for a deployment of somebody who has named none: an own one, or one that is made now. It may still
// await an admin's approval.
export async function app_to_deploy(app_name = t.create.app_proposed(me.value!.username)): Promise<App> {
  const own = able.value[0] ?? asking_app();
  if (own && may_deploy(own)) return own;
  if (!own)
    await call('post', '/api/oauth/apps', {
      body: { app_name, redirect_uris: [no_redirects], allowed_scopes: [...automatic_scopes, ...wanted] },
    });
  else if (!own.allowed_scopes.includes('deploy:manage'))
    await call('post', '/api/oauth/my-apps/{app_id}/scope-request', {
      path: { app_id: own.id },
      body: { requested_scopes: [...wanted] },
    });
  await load_apps();
  return able.value[0] ?? asking_app()!;
}

export type Sandbox = Answer<'get', '/api/deploy/sandbox-status'>;
export const usable_tiers = () => tiers.value?.filter((tier) => tier.payment_method === 'service_points');

// The tier that is chosen at first: the free one where the app may have it.
export const first_tier = (free: Sandbox | null) =>
  free ? usable_tiers()?.find((tier) => (tier.slug === free.tier) === free.eligible)?.slug : usable_tiers()?.[0]?.slug;

// A name that nobody has, like this one.
export async function free_name(name: string): Promise<string> {
  const { available, proposal } = await call('get', '/api/deploy/names/{name}', { path: { name } });
  return available ? name : (proposal ?? name);
}

export const has_sample = () => !!offer.value && (!!offer.value.sample?.image || !!offer.value.sample?.is_built);
// Whether the sample app was asked for, and its app isn't approved yet.
export const sample_waits = signal(false);
export type SampleStep = keyof typeof t.create.sample_steps;

type Build = Answer<'get', '/api/deploy/builds/{build_id}'>['build'];

// Builds the sample's image from the source that the console has, and returns its name.
async function built_sample(app: App, name: string, tier: string): Promise<string> {
  const source = await send('GET', '/console/sample.tar.gz');
  const begun = await send('POST', fill('/api/deploy/builds', {}, { name, tier }), {
    headers: { Accept: 'application/json', 'Content-Type': 'application/x-tar', ...headersFor(app.id) },
    body: await source.blob(),
  });
  const { build } = (await begun.json()) as { build: Build };
  const url = fill('/api/deploy/builds/{build_id}/logs', { build_id: build.id }, { follow: true });
  const over = await new Promise<Build>((done, fail) => {
    const end = follow(
      { kind: 'url', url, app: app.id, account: me.value!.id },
      {
        onEvents(events) {
          for (const { name: kind, data } of events) {
            const now: Build | null = kind === 'status' ? JSON.parse(data) : null;
            if (!now || now.status === 'queued' || now.status === 'building') continue;
            end();
            done(now);
          }
        },
        onRefused: fail,
      },
    );
  });
  if (over.status !== 'succeeded' || !over.image) throw new Error(over.message ?? t.create.sample_failed);
  return over.image;
}

const costs_nothing = (tier: Tier | undefined) =>
  !tier?.monthly_cost_points && !tier?.points_per_hour && !tier?.build_points_per_minute;

// Creates a deployment of the sample app. Returns nothing while an admin has to approve the app first. One click takes no
// points: 'costs' is returned where the free deployment is in use, and the form, which shows the sum, is the way then.
export async function run_sample(step: (now: SampleStep) => void): Promise<Deployment | 'costs' | null> {
  step('app');
  const app = await app_to_deploy();
  sample_waits.value = !may_deploy(app);
  if (sample_waits.value) return null;
  const [free, name] = await Promise.all([
    call('get', '/api/deploy/sandbox-status', { app: app.id }),
    free_name('hello'),
  ]);
  const tier = first_tier(free) ?? free.tier;
  if (!costs_nothing(tiers.value?.find((one) => one.slug === tier))) return 'costs';
  let image = offer.value!.sample?.image;
  if (!image) {
    step('build');
    image = await built_sample(app, name, tier);
  }
  step('create');
  const body = { name, image, tier, port: default_port };
  const { deployment } = await call('post', '/api/deploy/apps', { app: app.id, once: newKey(), body });
  put(deployment);
  return deployment;
}
