// What the screens share: the apps, their deployments, the tiers; and the stream that keeps the deployments current.
import { batch, computed, signal } from '@preact/signals';
import { type Answer, type ApiError, type Body, call, every, pages } from './api';
import { may } from './roles';
import { expired, me, offline } from './session';
import { follow, type StreamEvent } from './stream';

export type App = Answer<'get', '/api/operator/apps'>['apps'][number];
export type Deployment = Answer<'get', '/api/deploy/apps'>['deployments'][number];
export type Tier = Answer<'get', '/api/deploy/tiers'>['tiers'][number];

export const apps = signal<App[] | null>(null);
export const deployments = signal<Record<string, Deployment> | null>(null);
// Whether `deployments` has all of them: a long list is shown as soon as its first page is there.
export const complete = signal(false);
export const tiers = signal<Tier[] | null>(null);
// The name of a tier, as the form for a new deployment has it.
export const tier_name = (slug: string | null | undefined) =>
  tiers.value?.find((tier) => tier.slug === slug)?.name ?? slug ?? '–';
// Whether commands may run in containers of the tier; undefined while that is unknown.
export const tier_allows_exec = (slug: string | null | undefined) =>
  tiers.value?.find((tier) => tier.slug === slug)?.exec_allowed;
// What can be deployed here: allowed registries, the form of addresses, whether there is a sample, and custom domains.
export const offer = signal<Answer<'get', '/api/deploy/tiers'> | null>(null);
// Whether custom domains can be served here; undefined while that is unknown.
export const serves_domains = computed(() => offer.value?.custom_domains);
export const live = signal(false);
export const problem = signal<ApiError | null>(null); // why the first reading failed
// Counts the events of each deployment, and of each app, so that a screen can read again what the event is about.
export const news = signal<Record<string, number>>({});

// Those that the person may change the deployments of, by their role, and those of them that may have deployments.
export const own_apps = computed(() => (apps.value ?? []).filter((app) => may(app, 'developer')));
export const able = computed(() => own_apps.value.filter((app) => may_deploy(app)));
// Invitations to apps of others that nobody has answered.
export const invitations = signal<Answer<'get', '/api/auth/invitations'>['invitations']>([]);
export const may_deploy = (app: App) => (app.approved_scopes ?? []).includes('deploy:manage');
export const may_exec = (app: App) => (app.approved_scopes ?? []).includes('deploy:exec');
export const may_advertise = (app: App) => (app.approved_scopes ?? []).includes('campaigns:manage');
export const listed = computed(() =>
  Object.values(deployments.value ?? {}).sort((a, b) => (a.inserted_at < b.inserted_at ? 1 : -1)),
);
export const app_of = (id: string) => apps.value?.find((app) => app.id === id);
// Whether the person's role in the deployment's app lets them change it.
export const may_change = (deployment: { app_id: string }) => may(app_of(deployment.app_id), 'developer');

const first_page = 25; // what fits on a screen, and is quick to load

export async function load_apps(): Promise<void> {
  apps.value = (await every((page) => call('get', '/api/operator/apps', { query: page }))).flatMap((page) => page.apps);
}

const by_id = (all: Deployment[]) => Object.fromEntries(all.map((deployment) => [deployment.id, deployment]));
const pages_of_deployments = () => pages((query) => call('get', '/api/deploy/apps', { query }), first_page);

async function load_deployments(): Promise<void> {
  const all: Record<string, Deployment> = {};
  if ((apps.value ?? []).some(may_deploy))
    for await (const page of pages_of_deployments()) {
      const read_now = by_id(page.deployments);
      Object.assign(all, read_now);
      if (!complete.value) deployments.value = { ...deployments.value, ...read_now };
    }
  batch(() => {
    deployments.value = all;
    complete.value = true;
  });
}

export async function load_invitations(): Promise<void> {
  invitations.value = (await call('get', '/api/auth/invitations')).invitations;
}

export async function load(): Promise<void> {
  // Nothing else waits for them.
  void load_invitations().catch(() => {});
  try {
    await load_apps();
    await load_deployments();
    problem.value = null;
    if (tiers.value) return;
    offer.value = await call('get', '/api/deploy/tiers');
    tiers.value = offer.value.tiers;
  } catch (error) {
    problem.value = error as ApiError;
  }
}

export function put(deployment: Deployment): void {
  const rest = { ...deployments.value };
  if (deployment.status === 'destroyed') delete rest[deployment.id];
  else rest[deployment.id] = deployment;
  deployments.value = rest;
}

export async function change({ id, app_id }: Deployment, body: Body<'patch', '/api/deploy/apps/{id}'>): Promise<void> {
  put((await call('patch', '/api/deploy/apps/{id}', { path: { id }, app: app_id, body })).deployment);
}

export function forget(id: string): void {
  const { [id]: _, ...rest } = deployments.value ?? {};
  deployments.value = rest;
}

const reading = new Set<string>();

// Reads a deployment that the list doesn't have, such as one that another tab has created.
export async function read(id: string, app: string): Promise<void> {
  if (reading.has(id)) return;
  reading.add(id);
  try {
    put((await call('get', '/api/deploy/apps/{id}', { path: { id }, app })).deployment);
  } finally {
    reading.delete(id);
  }
}

function took(events: StreamEvent[]): void {
  const counts = { ...news.value };
  const all = { ...deployments.value };
  for (const { name, data: text } of events) {
    const data = JSON.parse(text);
    if (name === 'ready') {
      if (!data.resumed) load_once();
      continue;
    }
    for (const key of [data.id, data.data?.id, data.data?.deployment_id, data.app_id])
      if (key) counts[key] = (counts[key] ?? 0) + 1;
    if (name !== 'status') {
      if (name === 'scope_request.decided') void load();
      continue;
    }
    const known = all[data.id];
    if (data.status === 'destroyed') delete all[data.id];
    else if (known)
      all[data.id] = {
        ...known,
        status: data.status,
        phase: data.phase,
        reason: data.reason,
        cause: data.cause,
        message: data.message,
        health_status: data.health_status,
        last_health_check: data.last_health_check,
        url: data.url,
      };
    else void read(data.id, data.app_id);
  }
  if (deployments.value) deployments.value = all;
  news.value = counts;
}

let end: (() => void) | null = null;
let fallback: ReturnType<typeof setTimeout> | undefined;
const patience_with_stream = 700; // ms; a stream that takes longer has the lists read again

function load_once(): void {
  clearTimeout(fallback);
  void load();
}

// Reads all deployments, and follows everything that happens to the account's apps, on one connection, for as long as
// the console is open. The lists are read once, when the stream is there, so that no change falls in between; the apps,
// which are needed first, are already on their way (begin.ts).
export function follow_all(): void {
  end?.();
  clearTimeout(fallback);
  fallback = setTimeout(load_once, patience_with_stream);
  end = follow(
    { kind: 'account', account: me.value!.id },
    {
      onEvents: took,
      onState: (state) => {
        live.value = state === 'open';
        if (live.value) offline.value = false;
      },
      onRefused: (error) => {
        live.value = false;
        if (error.status === 401 && me.value) expired.value = true;
      },
    },
  );
}

expired.subscribe((now) => {
  if (!now && me.value && end) follow_all();
});
