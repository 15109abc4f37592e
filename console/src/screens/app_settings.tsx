// What an app is registered with; and deleting it.
import { type Body, call } from '../api';
import { type FieldOf, Form } from '../components/form';
import { note } from '../components/notes';
import { Button, Card } from '../components/ui';
import { type App, load } from '../data';
import { type ScopeName, t } from '../messages';
import { may } from '../roles';

type Changes = Body<'put', '/api/operator/apps/{id}'>;

const shown: FieldOf<Changes>[] = [
  { name: 'app_name', label: t.app.name, hint: t.app.name_hint },
  { name: 'app_description', label: t.app.description, kind: 'long', hint: t.app.optional },
  { name: 'website_url', label: t.app_settings.website, placeholder: 'https://www.example.com' },
  { name: 'logo_url', label: t.app_settings.logo, placeholder: 'https://www.example.com/logo.svg' },
  { name: 'listed', label: t.app_settings.listed, kind: 'check', hint: t.app_settings.listed_hint },
];
const login: FieldOf<Changes>[] = [
  { name: 'redirect_uris', label: t.app.redirects, kind: 'lines', hint: t.app_settings.redirects_hint },
  { name: 'allowed_origins', label: t.app_settings.origins, kind: 'lines', hint: t.app_settings.origins_hint },
  {
    name: 'session_tokens',
    label: t.app_settings.session_tokens,
    kind: 'check',
    hint: t.app_settings.session_tokens_hint,
  },
  { name: 'refresh_requires_client', label: t.app_settings.refresh, kind: 'check', hint: t.app_settings.refresh_hint },
];
const scopes: FieldOf<Changes>[] = [
  {
    name: 'allowed_scopes',
    label: t.app_settings.scopes,
    kind: 'many',
    values_shown: true,
    hint: t.app_settings.scopes_hint,
    choices: (Object.keys(t.scopes) as ScopeName[])
      .filter((scope) => scope !== 'points:award')
      .map((scope) => [scope, t.scopes[scope]]),
  },
];

export function AppSettings({ app, onDelete }: { app: App; onDelete: () => void }) {
  async function save(body: Changes) {
    const { warnings } = await call('put', '/api/operator/apps/{id}', { path: { id: app.id }, body });
    await load();
    note([t.app.changed, ...warnings].join(' '));
  }
  // A form begins anew with what was saved.
  const at = `${app.id} ${app.updated_at}`;
  const form = (fields: FieldOf<Changes>[]) => (
    <Form key={at} fields={fields} values={app} changes action={t.app.save} run={save} />
  );
  return (
    <div class="columns">
      <div class="stack wide">
        <Card title={t.app.details}>{form(shown)}</Card>
        <Card title={t.app_settings.login}>
          {form(
            app.token_endpoint_auth_method === 'none'
              ? login.filter((field) => field.name !== 'refresh_requires_client')
              : login,
          )}
        </Card>
      </div>
      <div class="stack wide">
        <Card title={t.app.scopes}>{form(scopes)}</Card>
        <Card title={t.app_settings.end}>
          <div class="stack">
            <p class="soft">{t.app.delete_text}</p>
            <div>
              {may(app, 'owner') ? (
                <Button kinds={['danger']} icon="trash" onClick={onDelete}>
                  {t.app.delete}
                </Button>
              ) : (
                <p class="soft">{t.roles.needs(t.roles.names.owner, t.roles.names[app.role])}</p>
              )}
            </div>
          </div>
        </Card>
      </div>
    </div>
  );
}
