// The account's apps.
import { Link } from 'wouter-preact';
import { LazyInvitations } from '../components/lazy';
import { Bones, Card, Empty, Failed, LinkButton, Page, Time } from '../components/ui';
import { apps, complete, invitations, listed, load, may_deploy, problem } from '../data';
import { t } from '../messages';

export function AppsScreen() {
  return (
    <Page
      title={t.menu.apps}
      below={<p class="soft">{t.apps.text}</p>}
      actions={
        <LinkButton href="/apps/new" kinds={['main-action']} icon="plus">
          {t.apps.create}
        </LinkButton>
      }>
      {problem.value && <Failed error={problem.value} again={load} />}
      {invitations.value.length > 0 && <LazyInvitations />}
      {!apps.value ? (
        !problem.value && (
          <Card>
            <Bones />
          </Card>
        )
      ) : apps.value.length === 0 ? (
        <section class="card">
          <Empty icon="apps" title={t.apps.none} text={t.apps.none_text}>
            <LinkButton href="/apps/new" kinds={['main-action']} icon="plus">
              {t.apps.create}
            </LinkButton>
          </Empty>
        </section>
      ) : (
        <ul class="grid" aria-label={t.menu.apps}>
          {apps.value.map((app) => {
            const count = listed.value.filter((deployment) => deployment.app_id === app.id).length;
            return (
              <li class="card tile" key={app.id}>
                <div class="row apart tight">
                  <span class="name cut">
                    <Link href={`/apps/${app.id}`}>{app.app_name}</Link>
                  </span>
                  <span class={`badge ${may_deploy(app) ? 'good' : 'warn'}`}>
                    {may_deploy(app) ? t.apps.approved : t.apps.waiting}
                  </span>
                </div>
                <div class="row apart tight small">
                  <span class="faint mono cut">{app.client_id}</span>
                  <span class="tag" title={t.roles.what[app.role]}>
                    {t.roles.names[app.role]}
                  </span>
                </div>
                <div class="row apart tight small faint">
                  <span>{complete.value ? t.apps.counts(count, app.total_users) : '…'}</span>
                  <Time at={app.inserted_at} />
                </div>
              </li>
            );
          })}
        </ul>
      )}
    </Page>
  );
}
