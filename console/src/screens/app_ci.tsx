// Trusts: which jobs of a CI system get tokens for the app, by what their own tokens say, without a stored secret.
import { useState } from 'preact/hooks';
import { type Answer, type Body, call } from '../api';
import { Confirm, type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Read } from '../components/table';
import { Banner, Button, Card, Choices, Copy, Empty, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type App, listed } from '../data';
import { t } from '../messages';
import { snippets } from '../messages/snippets';
import { may } from '../roles';
import { Limits } from './app_members';

type Trust = Answer<'get', '/api/oauth/my-apps/{app_id}/trusts'>['trusts'][number];
type Creation = Body<'post', '/api/oauth/my-apps/{app_id}/trusts'>;

// The scopes that a job may get, if the app has them or deploy:manage, which includes them.
const offered = ['deploy:write', 'deploy:read', 'logs:read'] as const;

// What the tokens of each CI system say: a number that stays the same when a project is renamed, and the branch.
const presets: Record<keyof typeof t.ci.systems, Pick<Creation, 'issuer' | 'claims'>> = {
  github: {
    issuer: 'https://token.actions.githubusercontent.com',
    claims: { repository_id: '', ref: 'refs/heads/main' },
  },
  gitlab: { issuer: 'https://gitlab.com', claims: { project_id: '', ref_type: 'branch', ref: 'main' } },
  other: { issuer: '', claims: { sub: '' } },
};
type System = keyof typeof presets;
const systems = Object.keys(presets) as System[];

function fields_of(app: App, system: System): FieldOf<Creation>[] {
  const deployments = listed.value.filter((one) => one.app_id === app.id);
  return [
    { name: 'name', label: t.app.name, hint: t.ci.name_hint },
    {
      name: 'issuer',
      label: t.ci.issuer,
      hint: t.ci.issuer_hint,
      mono: true,
      required: true,
      placeholder: 'https://ci.example.com',
    },
    { name: 'audience', label: t.ci.audience, hint: t.ci.audience_hint, mono: true, required: true },
    {
      name: 'claims',
      label: t.ci.claims,
      kind: 'claims',
      required: true,
      hint: t.ci.claims_hints[system],
      check: (claims) =>
        Object.values(claims as Creation['claims']).some((text) => !text.length) ? t.ci.empty_claim : undefined,
    },
    {
      name: 'scopes',
      label: t.ci.scopes,
      kind: 'many',
      required: true,
      values_shown: true,
      choices: offered.map((scope) => [scope, t.tokens.grants[scope]]),
    },
    ...(deployments.length > 0
      ? [
          {
            name: 'deployments',
            label: t.ci.only_these,
            kind: 'many',
            hint: t.members.only_these_hint,
            choices: deployments.map((one) => [one.id, one.name ?? one.subdomain] as const),
          } as const,
        ]
      : []),
  ];
}

const texts_of = (claims: Trust['claims']) =>
  Object.entries(claims).map(([name, text]) => `${name} = ${[text].flat().join(' | ')}`);

function Row({ app, trust, again }: { app: App; trust: Trust; again: () => void }) {
  const [asking, ask] = useState(false);
  return (
    <li>
      <div class="grow">
        <div class="break">{trust.name}</div>
        <div class="small soft break">
          {trust.issuer} · {t.ci.for_audience} {trust.audience}
        </div>
        <ul class="small mono">
          {texts_of(trust.claims).map((text) => (
            <li class="break" key={text}>
              {text}
            </li>
          ))}
        </ul>
        <div class="row tight">
          {trust.scopes.map((scope) => (
            <span class="tag" key={scope}>
              {scope}
            </span>
          ))}
        </div>
        <Limits to={trust.deployments} />
        <div class="small faint">
          {t.account.used} {trust.last_used_at ? <Time at={trust.last_used_at} /> : t.account.never}
        </div>
      </div>
      {may(app, 'admin') && (
        <Button slim aria-label={t.ci.delete_of(trust.name)} onClick={() => ask(true)}>
          {t.ci.delete}
        </Button>
      )}
      {asking && (
        <Confirm
          title={t.ci.delete_title(trust.name)}
          action={t.ci.delete}
          danger
          onClose={() => ask(false)}
          run={async () => {
            await call('delete', '/api/oauth/my-apps/{app_id}/trusts/{trust_id}', {
              path: { app_id: app.id, trust_id: trust.id },
            });
            note(t.ci.deleted);
            again();
          }}>
          <p>{t.ci.delete_text}</p>
        </Confirm>
      )}
    </li>
  );
}

// A job that gets a token and deploys, to copy.
function Workflow({ app }: { app: App }) {
  const [system, choose] = useState<keyof typeof snippets>('github');
  const name = listed.value.find((one) => one.app_id === app.id)?.subdomain ?? 'shop';
  const text = snippets[system]({ url: location.origin, client_id: app.client_id, deployment: name });
  return (
    <Card title={t.ci.workflow} actions={<Copy text={text} label={t.ci.workflow} show={t.ci.systems[system]} />}>
      <div class="stack">
        <p class="soft">{t.ci.workflow_text}</p>
        <Choices
          label={t.ci.system}
          of={['github', 'gitlab'] as const}
          chosen={system}
          choose={choose}
          name={(one) => t.ci.systems[one]}
        />
        <pre class="output" tabIndex={0} aria-label={t.ci.workflow}>
          {text}
        </pre>
      </div>
    </Card>
  );
}

export function AppCi({ app }: { app: App }) {
  const list = useReading(
    () => call('get', '/api/oauth/my-apps/{app_id}/trusts', { path: { app_id: app.id } }),
    [app.id],
  );
  const [creating, create] = useState<System | null>(null);
  const [warnings, warn] = useState<string[]>([]);
  const manages = may(app, 'admin');
  return (
    <div class="stack wide">
      <p class="soft">{t.ci.text}</p>
      {manages ? (
        <div class="row tight" role="group" aria-label={t.ci.create}>
          {systems.map((system) => (
            <Button key={system} icon="plus" onClick={() => create(system)}>
              {t.ci.systems[system]}
            </Button>
          ))}
        </div>
      ) : (
        <Banner kind="info">
          <p>{t.roles.needs(t.roles.names.admin, t.roles.names[app.role])}</p>
        </Banner>
      )}
      {warnings.length > 0 && (
        <Banner kind="warn" role="status">
          {warnings.map((text) => (
            <p key={text}>{t.errors.field(text)}</p>
          ))}
        </Banner>
      )}
      <Card title={t.ci.heading} bare>
        <Read of={list}>
          {({ trusts }) =>
            trusts.length === 0 ? (
              <Empty icon="shield" title={t.ci.none} text={t.ci.none_text} />
            ) : (
              <ul class="list">
                {trusts.map((trust) => (
                  <Row key={trust.id} app={app} trust={trust} again={list.again} />
                ))}
              </ul>
            )
          }
        </Read>
      </Card>
      <Workflow app={app} />
      {creating && (
        <FormDialog<Creation>
          title={t.ci.new_of(t.ci.systems[creating])}
          fields={fields_of(app, creating)}
          values={{ ...presets[creating], audience: location.origin, scopes: [...offered] }}
          action={t.ci.create}
          onClose={() => create(null)}
          run={async (body) => {
            const answer = await call('post', '/api/oauth/my-apps/{app_id}/trusts', {
              path: { app_id: app.id },
              body,
            });
            warn(answer.warnings ?? []);
            list.again();
          }}
        />
      )}
    </div>
  );
}
