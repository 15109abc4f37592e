// Creating an app, and its secret, which is shown once.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { type Answer, type Body, call } from '../api';
import { type FieldOf, Form, useGuard } from '../components/form';
import { Banner, Button, Card, Copy, Dialog, LinkButton, Page } from '../components/ui';
import { load } from '../data';
import { automatic_scopes, t } from '../messages';
import { no_redirects } from '../start';

type Creation = Body<'post', '/api/oauth/apps'>;

const offered = ['deploy:manage', 'app:balance:read', 'points:spend', 'campaigns:manage'] as const;
const fields: FieldOf<Creation>[] = [
  { name: 'app_name', label: t.app.name, hint: t.app.name_hint, required: true, most: 100 },
  { name: 'app_description', label: t.app.description, hint: t.app.optional, most: 300 },
  {
    name: 'allowed_scopes',
    label: t.app.scopes,
    kind: 'many',
    values_shown: true,
    choices: offered.map((scope) => [scope, t.scopes[scope]]),
  },
  {
    name: 'redirect_uris',
    label: t.app.redirects,
    hint: t.app.redirects_hint,
    kind: 'lines',
    placeholder: 'https://www.example.com/callback',
  },
];

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

// Something that is shown once: over the page, so that no click leads away before it is saved.
export function OnceShown({
  title,
  text = t.app.once,
  onSaved,
  children,
}: {
  title: string;
  text?: string;
  onSaved: () => void;
  children: ComponentChildren;
}) {
  useGuard(true);
  return (
    <Dialog title={title} onClose={onSaved} closable={false} wide>
      <Banner kind="warn">
        <p>{text}</p>
      </Banner>
      {children}
      <div class="actions">
        <Button kinds={['main-action']} onClick={onSaved}>
          {t.app.saved}
        </Button>
      </div>
    </Dialog>
  );
}

export function NewAppScreen() {
  const [made, make] = useState<Answer<'post', '/api/oauth/apps'> | null>(null);
  const [, go] = useLocation();
  async function create({ redirect_uris = [no_redirects], allowed_scopes = [], ...body }: Creation) {
    make(
      await call('post', '/api/oauth/apps', {
        body: { ...body, redirect_uris, allowed_scopes: [...automatic_scopes, ...allowed_scopes] },
      }),
    );
    void load();
  }
  return (
    <Page title={t.apps.create} crumbs={[[t.menu.apps, '/apps']]} below={<p class="soft">{t.apps.text}</p>} narrow>
      <Card>
        <Form
          fields={fields}
          values={{ allowed_scopes: ['deploy:manage', 'app:balance:read'] }}
          action={t.apps.create}
          run={create}
          focus
          beside={<LinkButton href="/apps">{t.frame.cancel}</LinkButton>}
        />
      </Card>
      {made && (
        <OnceShown title={t.app.made} onSaved={() => go(`/apps/${made.app.id}`)}>
          <Secret app={made.app} />
          {made.warnings.map((warning) => (
            <p class="small soft" key={warning}>
              {warning}
            </p>
          ))}
        </OnceShown>
      )}
    </Page>
  );
}
