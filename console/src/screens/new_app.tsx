// Creating an app, and its secret, which is shown once.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { type Answer, call } from '../api';
import { Banner, Button, Card, Copy, Field, LinkButton, Page } from '../components/ui';
import { useSubmit } from '../components/use';
import { load } from '../data';
import { automatic_scopes, t } from '../messages';

const offered = ['deploy:manage', 'app:balance:read', 'points:spend', 'campaigns:manage'] as const;
const no_redirects = 'http://127.0.0.1/callback';

export function Secret({ app }: { app: Answer<'post', '/api/oauth/apps'>['app'] }) {
  return (
    <dl class="facts">
      <dt>{t.app.client_id}</dt>
      <dd>
        <Copy text={app.client_id} label={t.app.client_id} />
      </dd>
      <dt>{t.app.secret}</dt>
      <dd>
        <Copy text={app.client_secret ?? ''} label={t.app.secret} />
      </dd>
    </dl>
  );
}

export function NewAppScreen() {
  const [name, set_name] = useState('');
  const [description, describe] = useState('');
  const [redirects, set_redirects] = useState('');
  const [scopes, choose] = useState<string[]>(['deploy:manage', 'app:balance:read']);
  const [made, make] = useState<Answer<'post', '/api/oauth/apps'> | null>(null);
  const [, go] = useLocation();
  const { busy, error, submit, wrong } = useSubmit(async () => {
    const uris = redirects.split(/\s+/).filter(Boolean);
    make(
      await call('post', '/api/oauth/apps', {
        body: {
          app_name: name.trim(),
          redirect_uris: uris.length ? uris : [no_redirects],
          allowed_scopes: [...automatic_scopes, ...scopes],
          ...(description ? { app_description: description } : {}),
        } as never,
      }),
    );
    void load();
  });
  const stray =
    error && !['app_name', 'redirect_uris', 'app_description', 'allowed_scopes'].some((field) => wrong(field));
  if (made)
    return (
      <Page title={made.app.app_name} crumbs={[[t.menu.apps, '/apps']]} narrow>
        <Card title={t.app.made}>
          <div class="stack">
            <Banner kind="warn">
              <p>{t.app.once}</p>
            </Banner>
            <Secret app={made.app} />
            {made.warnings.map((warning) => (
              <p class="small soft" key={warning}>
                {warning}
              </p>
            ))}
            <div>
              <Button kinds={['main-action']} onClick={() => go(`/apps/${made.app.id}`)}>
                {t.app.saved}
              </Button>
            </div>
          </div>
        </Card>
      </Page>
    );
  return (
    <Page title={t.apps.create} crumbs={[[t.menu.apps, '/apps']]} below={<p class="soft">{t.apps.text}</p>} narrow>
      <Card>
        <form class="stack wide" onSubmit={submit} noValidate>
          <Field label={t.app.name} hint={t.app.name_hint} wrong={wrong('app_name')}>
            {(field) => (
              <input
                {...field}
                required
                autocomplete="off"
                maxLength={100}
                value={name}
                onInput={(e) => set_name(e.currentTarget.value)}
              />
            )}
          </Field>
          <Field label={t.app.description} hint={t.app.optional} wrong={wrong('app_description')}>
            {(field) => (
              <input
                {...field}
                autocomplete="off"
                maxLength={300}
                value={description}
                onInput={(e) => describe(e.currentTarget.value)}
              />
            )}
          </Field>
          <fieldset class="choices">
            <legend class="legend">{t.app.scopes}</legend>
            <div>
              {offered.map((scope) => (
                <label class="check" key={scope}>
                  <input
                    type="checkbox"
                    checked={scopes.includes(scope)}
                    onChange={(e) =>
                      choose(e.currentTarget.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
                    }
                  />
                  <span>
                    {t.scopes[scope]} <code class="small faint">{scope}</code>
                  </span>
                </label>
              ))}
            </div>
          </fieldset>
          <Field label={t.app.redirects} hint={t.app.redirects_hint} wrong={wrong('redirect_uris')} mono>
            {(field) => (
              <textarea
                {...field}
                rows={2}
                spellcheck={false}
                placeholder="https://www.example.com/callback"
                value={redirects}
                onInput={(e) => set_redirects(e.currentTarget.value)}
              />
            )}
          </Field>
          {stray && (
            <p class="wrong" role="alert">
              {error.message}
            </p>
          )}
          {wrong('allowed_scopes') && (
            <p class="wrong" role="alert">
              {wrong('allowed_scopes')!.join(' ')}
            </p>
          )}
          <div class="row tight">
            <Button type="submit" kinds={['main-action']} busy={busy} disabled={!name.trim()}>
              {t.apps.create}
            </Button>
            <LinkButton href="/apps">{t.frame.cancel}</LinkButton>
          </div>
        </form>
      </Card>
    </Page>
  );
}
