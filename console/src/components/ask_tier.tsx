// Asking the admins for a tier that isn't for everybody: a request that they see and answer.
import { call } from '../api';
import { type App, load, news } from '../data';
import { t } from '../messages';
import { usable_tiers } from '../start';
import { note } from './notes';
import { Button } from './ui';
import { useReading } from './use';

export function AskTier({ app }: { app: App }) {
  const waiting = useReading(
    () =>
      call('get', '/api/oauth/my-apps/{app_id}/scope-requests', {
        path: { app_id: app.id },
        query: { status: 'pending' },
      }),
    [app.id, news.value[app.id]],
  );
  const asked = waiting.value?.scope_requests.find((request) => request.tier)?.tier;
  const missing = (usable_tiers() ?? []).filter((tier) => !tier.auto_approve && tier.slug !== app.promoted_tier);
  if (missing.length === 0 || !waiting.value) return null;
  async function ask(tier: string, name: string) {
    try {
      await call('post', '/api/oauth/my-apps/{app_id}/scope-request', { path: { app_id: app.id }, body: { tier } });
      await load();
      waiting.again();
      const is_granted = (await call('get', '/api/operator/apps/{id}', { path: { id: app.id } })).app.promoted_tier;
      note(is_granted === tier ? t.tiers.granted_at_once(name) : t.tiers.asked(name));
    } catch (failure) {
      note((failure as Error).message);
    }
  }
  return (
    <div class="row tight">
      {missing.map(({ slug, name }) =>
        slug === asked ? (
          <span key={slug}>{t.tiers.asked(name)}</span>
        ) : (
          <Button key={slug} slim onClick={() => ask(slug, name)}>
            {t.tiers.ask(name)}
          </Button>
        ),
      )}
    </div>
  );
}
