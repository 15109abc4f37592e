// The fields of a deployment, for the forms that create and change it.
import type { Body } from '../api';
import { type FieldOf, type Row } from '../components/values';
import { type App, type Deployment, offer, serves_domains } from '../data';
import { cpu, memory } from '../format';
import { is_allowed, normalized_image } from '../images';
import { t } from '../messages';
import { type Sandbox, usable_tiers } from '../start';

type Creation = Body<'post', '/api/deploy/apps'>;
type Change = Body<'patch', '/api/deploy/apps/{id}'>;

// The fields that have rows of their own below or in the form of the creation, and those that the console doesn't show:
// `env` is another name of `env_vars`.
type Apart =
  | 'name'
  | 'tier'
  | 'env_vars'
  | 'custom_domain'
  | 'registry_credentials'
  | 'env'
  | 'labels'
  | 'scale'
  | 'processes'
  | 'crons';
type Container = Pick<Creation & Change, Exclude<keyof Creation, Apart>>;

const most_port = 65_535;
const most_replicas = 100;
const first_unprivileged_port = 1_024;

// Images that berthd has built are of no registry.
function wrong_image(text: string): string | undefined {
  const image = normalized_image(text);
  const registries = offer.value?.registries;
  if (!registries || image.startsWith('localhost/') || is_allowed(image, registries)) return undefined;
  return t.create.not_allowed(image, registries.join(', '));
}

function wrong_variables(variables: Record<string, string>): string | undefined {
  const wrong = Object.keys(variables).flatMap((name) =>
    !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
      ? [t.create.bad_variable(name)]
      : name.startsWith('BERTH_')
        ? [t.create.reserved_variable(name)]
        : [],
  );
  return wrong.join(' ') || undefined;
}

// What a deployment is created with and can be changed to: the form of the creation and the one of the settings have all
// of these. The published document says which there are, so a field that it has and this list hasn't doesn't compile.
const container: { [F in keyof Container]-?: Row } = {
  image: {
    label: t.create.image,
    mono: true,
    required: true,
    errors: ['unsupported_registry'],
    check: wrong_image,
    card: t.create.what,
  },
  port: {
    label: t.create.port,
    hint: t.create.port_hint,
    kind: 'number',
    check: (port: number) => (port < 1 || port > most_port ? t.create.bad_port : undefined),
    warn: (port) =>
      typeof port === 'number' && port >= 1 && port < first_unprivileged_port ? t.create.low_port(port) : undefined,
    card: t.create.what,
  },
  health_path: {
    label: t.create.health,
    hint: t.create.health_hint,
    mono: true,
    check: (path: string) => (path.startsWith('/') ? undefined : t.create.bad_path),
    placeholder: '/health',
    card: t.create.more,
  },
  command: {
    label: t.create.command,
    hint: t.create.command_hint,
    kind: 'texts',
    placeholder: '/bin/sh',
    card: t.create.more,
  },
  args: { label: t.create.args, hint: t.create.args_hint, kind: 'texts', card: t.create.more },
  release_command: {
    label: t.create.release_command,
    hint: t.create.release_command_hint,
    kind: 'texts',
    card: t.create.more,
  },
  auto_deploy: { label: t.create.auto_deploy, hint: t.create.auto_deploy_hint, kind: 'check', card: t.create.more },
  deploy_hours: {
    label: t.create.deploy_hours,
    hint: t.create.deploy_hours_hint,
    mono: true,
    check: (hours: string) => (/^\d{1,2}-\d{1,2}$/.test(hours) ? undefined : t.create.bad_hours),
    placeholder: '22-6',
    card: t.create.more,
  },
  identity: { label: t.create.identity, hint: t.create.identity_hint, kind: 'check', card: t.create.more },
  replicas: {
    label: t.create.replicas,
    hint: t.create.replicas_hint,
    kind: 'number',
    check: (replicas: number) => (replicas < 1 || replicas > most_replicas ? t.create.bad_replicas : undefined),
    card: t.create.more,
  },
};
export const container_fields = Object.entries(container).map(([name, row]) => ({
  name,
  ...row,
})) as FieldOf<Container>[];

// What the fields of a deployment have now. A field that the API answers with under another name is named here.
export const container_values = (deployment: Deployment) => ({ ...deployment, image: deployment.container_image });

export const variables_field: FieldOf<Pick<Creation, 'env_vars'>> = {
  name: 'env_vars',
  label: t.variables.paste,
  kind: 'variables',
  check: wrong_variables,
  placeholder: 'LOG_LEVEL=debug\nGREETING="hello"',
};

// The tier of which each app has one deployment can't be chosen by an app that has one, unless it is the present tier.
export const tier_field = (free: Sandbox | null, app?: App, present?: string): FieldOf<{ tier: string }> => ({
  name: 'tier',
  label: t.tiers.choose,
  kind: 'cards',
  required: true,
  errors: ['tier_not_allowed', 'deployment_limit_reached', 'insufficient_balance'],
  choices: usable_tiers()?.map((tier) => {
    const is_used_up = !!free && tier.slug === free.tier && !free.eligible;
    const is_allowed_to = tier.auto_approve || tier.slug === app?.promoted_tier;
    const disabled = is_used_up && tier.slug !== present;
    const has_domains = tier.custom_domain_allowed && serves_domains.value;
    const about = is_allowed_to ? (has_domains ? t.tiers.domain : t.tiers.no_domain) : t.tiers.by_admin;
    return [
      tier.slug,
      tier.name,
      {
        aside: t.tiers.price(tier.monthly_cost_points ?? 0, tier.points_per_hour ?? 0) || t.create.free,
        lines: [
          t.tiers.size(memory(tier.memory_limit_mb), cpu(tier.cpu_limit_millicores)),
          disabled ? t.tiers.used_up : about,
        ],
        disabled,
      },
    ] as const;
  }),
});
