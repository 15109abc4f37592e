// The market of ads, as an advertiser sees it: campaigns, places where ads are shown, packages, audiences.
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { type Answer, type Body, call, every } from '../api';
import { Entry } from '../components/fields';
import { type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { whole } from '../components/sum';
import { Read, Table } from '../components/table';
import { Bones, Button, Card, Empty, LinkButton, Meter, Page, Tabs, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type App, apps, may_advertise } from '../data';
import { number } from '../format';
import { t } from '../messages';
import { useBalance } from './balance';
import { CampaignScreen, marks, targeting_of, type Targeting } from './campaign';

type Creation = Body<'post', '/api/external/campaigns'>;
type Package = Answer<'get', '/api/v1/ads/packages'>['packages'][number];
type Rate = Answer<'get', '/api/v1/ads/rates'>['rates'][number];
export type Surface = Creation['surface_type'];
export const surfaces = Object.entries(t.campaigns.surfaces) as [Surface, string][];

const chosen = signal(''); // the id of the app that advertises
const page_size = 100;

const campaign_fields: FieldOf<Creation & Targeting>[] = [
  { name: 'name', label: t.app.name },
  { name: 'surface_type', label: t.campaigns.surface, kind: 'choice', choices: surfaces },
  {
    name: 'total_payment',
    label: t.campaigns.total,
    kind: 'number',
    hint: t.campaigns.total_hint,
    errors: ['insufficient_balance'],
  },
  { name: 'payout_rate', label: t.campaigns.rate, kind: 'number', hint: t.campaigns.rate_hint },
  { name: 'starts_at', label: t.campaigns.starts, kind: 'time', hint: t.campaigns.starts_hint },
  { name: 'ends_at', label: t.campaigns.ends, kind: 'time', hint: t.campaigns.ends_hint },
  { name: 'game_type', kind: 'short', label: t.audiences.game_type, hint: t.campaigns.targeting_hint },
  { name: 'play_tier', kind: 'short', label: t.audiences.play_tier },
  { name: 'geography', kind: 'short', label: t.audiences.geography, placeholder: 'DE, AT' },
];

function Campaigns({ app }: { app: App }) {
  const [, go] = useLocation();
  const [creating, create] = useState(false);
  const balance = useBalance(app.id);
  const list = useReading(
    () =>
      every((page) => call('get', '/api/external/campaigns', { app: app.id, query: page })).then((pages) =>
        pages.flatMap((page) => page.campaigns),
      ),
    [app.id],
  );
  return (
    <>
      <Card
        title={t.menu.campaigns}
        bare
        actions={
          <Button slim icon="plus" kinds={['main-action']} onClick={() => create(true)}>
            {t.campaigns.create}
          </Button>
        }>
        <Read of={list}>
          {(value) =>
            value.length === 0 ? (
              <Empty icon="send" title={t.campaigns.none} text={t.campaigns.none_text} />
            ) : (
              <Table
                label={t.menu.campaigns}
                columns={[
                  t.app.name,
                  t.webhooks.state,
                  t.campaigns.surface,
                  t.campaigns.spent,
                  { name: t.campaigns.rate, end: true },
                  t.campaigns.ends,
                ]}>
                {value.map((campaign) => (
                  <tr key={campaign.id}>
                    <td>
                      <Link href={`/campaigns/campaign/${campaign.id}`}>{campaign.name}</Link>
                      {campaign.creatives === 0 && (campaign.status === 'active' || campaign.status === 'paused') && (
                        <div class="small faint">{t.creatives.missing}</div>
                      )}
                    </td>
                    <td>
                      <span class={`badge ${marks[campaign.status]}`}>{t.campaigns.states[campaign.status]}</span>
                    </td>
                    <td class="soft">{t.campaigns.surfaces[campaign.surface_type]}</td>
                    <td>
                      <span class="number">
                        {number(campaign.spent)}{' '}
                        <span class="small faint">{t.campaigns.of(number(campaign.budget))}</span>
                      </span>
                      <Meter label={t.campaigns.spent} value={campaign.spent} of={campaign.budget} />
                    </td>
                    <td class="end number">{number(campaign.payout_rate)}</td>
                    <td class="soft">{campaign.ends_at ? <Time at={campaign.ends_at} /> : '–'}</td>
                  </tr>
                ))}
              </Table>
            )
          }
        </Read>
      </Card>
      {creating && (
        <FormDialog<Creation & Targeting>
          title={t.campaigns.create}
          fields={campaign_fields}
          values={{ payout_rate: 1 }}
          action={t.campaigns.create}
          cost={({ total_payment }) => ({
            now: whole(total_payment),
            later: t.campaigns.no_more,
            balance,
            app: app.id,
          })}
          onClose={() => create(false)}
          run={async ({ game_type, play_tier, geography, ...body }, once) => {
            const targeting_metadata = targeting_of({ game_type, play_tier, geography });
            const { campaign } = await call('post', '/api/external/campaigns', {
              app: app.id,
              once,
              body: { ...body, ...(targeting_metadata ? { targeting_metadata } : {}) } as Creation,
            });
            go(`/campaigns/campaign/${campaign.id}`);
          }}
        />
      )}
    </>
  );
}

function Places({ app }: { app: App }) {
  const rates = useReading(() => call('get', '/api/v1/ads/rates', { app: app.id }), [app.id]);
  const places = useReading(async () => {
    const [placements, pricing] = await Promise.all([
      every((page) => call('get', '/api/v1/ads/placements', { app: app.id, query: page })),
      every((page) => call('get', '/api/v1/ads/pricing', { app: app.id, query: page })),
    ]);
    const prices = new Map(pricing.flatMap((page) => page.pricing).map((one) => [one.ad_placement_id, one]));
    return placements
      .flatMap((page) => page.placements)
      .map((placement) => ({ ...placement, price: prices.get(placement.id) }));
  }, [app.id]);
  return (
    <>
      <Card title={t.market.rates} bare>
        <Read of={rates}>
          {(value) => (
            <Table
              label={t.market.rates}
              columns={[
                t.campaigns.surface,
                ...[t.market.rate, t.market.base, t.market.least, t.market.most].map((name) => ({ name, end: true })),
                { name: t.market.demand, end: true },
              ]}>
              {value.rates.map((rate) => (
                <tr key={rate.surface_type}>
                  <td>{t.campaigns.surfaces[rate.surface_type]}</td>
                  <td class="end number">
                    <strong>{number(rate.effective_rate)}</strong>
                  </td>
                  <td class="end number">{number(rate.base_rate)}</td>
                  <td class="end number">{number(rate.floor_price)}</td>
                  <td class="end number">{number(rate.ceiling_price)}</td>
                  <td class="end number">× {number(rate.demand_multiplier)}</td>
                </tr>
              ))}
            </Table>
          )}
        </Read>
      </Card>
      <Card title={t.market.places} bare>
        <Read of={places}>
          {(value) =>
            value.length === 0 ? (
              <Empty icon="book" title={t.market.no_places} text={t.market.no_places_text} />
            ) : (
              <Table
                label={t.market.places}
                columns={[
                  t.app.name,
                  t.campaigns.surface,
                  { name: t.market.rate, end: true },
                  { name: t.market.least, end: true },
                  { name: t.market.most, end: true },
                ]}>
                {value.map((place) => (
                  <tr key={place.id}>
                    <td>
                      {place.name}
                      {place.description && <div class="small faint break">{place.description}</div>}
                    </td>
                    <td class="soft">{t.campaigns.surfaces[place.surface_type]}</td>
                    {[place.price?.effective_rate, place.price?.min_rate, place.price?.max_rate].map((value, index) => (
                      <td class="end number" key={index}>
                        {value === undefined ? '–' : number(value)}
                      </td>
                    ))}
                  </tr>
                ))}
              </Table>
            )
          }
        </Read>
      </Card>
    </>
  );
}

type Purchase = { name: string } & Partial<Record<Surface, number>>;

function Buy({
  app,
  of,
  rates,
  onClose,
  onDone,
}: {
  app: App;
  of: Package;
  rates: Rate[];
  onClose: () => void;
  onDone: () => void;
}) {
  const balance = useBalance(app.id);
  const rate_of = (surface: Surface) => rates.find((one) => one.surface_type === surface)?.effective_rate;
  // What berthd will take: the impressions at the present rates, less the discount of each kind, which is rounded down.
  const total_of = (typed: Partial<Purchase>) =>
    surfaces.reduce((sum, [surface]) => {
      const subtotal = whole(typed[surface]) * (rate_of(surface) ?? 0);
      return sum + subtotal - Math.floor((subtotal * of.discount_percentage) / 100);
    }, 0);
  const fields: FieldOf<Purchase>[] = [
    { name: 'name', label: t.market.campaigns_name, hint: t.market.campaigns_name_hint },
    ...surfaces.map(([surface, name]) => {
      const rate = rate_of(surface);
      return {
        name: surface,
        label: name,
        kind: 'number' as const,
        ...(rate === undefined ? {} : { hint: t.market.each(number(rate)) }),
      };
    }),
  ];
  return (
    <FormDialog<Purchase>
      title={t.market.buy_title(of.name)}
      fields={fields}
      action={t.market.buy}
      onClose={onClose}
      cost={(typed) => ({ now: total_of(typed), later: t.campaigns.no_more, balance, app: app.id })}
      run={async ({ name, ...counts }, once) => {
        const bought = surfaces
          .filter(([surface]) => counts[surface] !== undefined)
          .map(([surface_type]) => ({ surface_type, impressions: counts[surface_type]! }));
        const { purchase } = await call('post', '/api/v1/ads/purchases', {
          app: app.id,
          once,
          body: { ad_package_id: of.id, name: name ?? '', surfaces: bought },
        });
        note(t.market.bought(number(purchase.total_charged)));
        onDone();
      }}>
      <p class="soft">
        {t.market.buy_text(number(of.min_surfaces), number(of.min_impressions), number(of.discount_percentage))}
      </p>
    </FormDialog>
  );
}

function Packages({ app }: { app: App }) {
  const packages = useReading(
    () => call('get', '/api/v1/ads/packages', { app: app.id, query: { page_size } }),
    [app.id],
  );
  const rates = useReading(() => call('get', '/api/v1/ads/rates', { app: app.id }), [app.id]);
  const purchases = useReading(
    () => call('get', '/api/v1/ads/purchases', { app: app.id, query: { page_size } }),
    [app.id],
  );
  const [buying, buy] = useState<Package | null>(null);
  const name_of = (id: string) => packages.value?.packages.find((one) => one.id === id)?.name ?? id;
  return (
    <>
      <Read of={packages}>
        {({ packages: all }) =>
          all.length === 0 ? (
            <section class="card">
              <Empty icon="apps" title={t.market.no_packages} text={t.market.no_packages_text} />
            </section>
          ) : (
            <ul class="grid" aria-label={t.market.tabs.packages}>
              {all.map((one) => (
                <li class="card tile still" key={one.id}>
                  <div class="row apart tight">
                    <span class="name">{one.name}</span>
                    <span class="badge good">{t.market.off(number(one.discount_percentage))}</span>
                  </div>
                  <p class="soft break">{one.description}</p>
                  <span class="small faint">{t.market.needs(one.min_surfaces, one.min_impressions)}</span>
                  <div class="last">
                    <Button
                      slim
                      kinds={['main-action']}
                      aria-label={t.market.buy_title(one.name)}
                      onClick={() => buy(one)}>
                      {t.market.buy}
                    </Button>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Read>
      <Card title={t.market.purchases} bare>
        <Read of={purchases}>
          {(value) =>
            value.purchases.length === 0 ? (
              <p class="body soft">{t.market.no_purchases}</p>
            ) : (
              <Table
                label={t.market.purchases}
                columns={[
                  t.market.package,
                  t.points_screen.when,
                  t.webhooks.state,
                  { name: t.market.discount, end: true },
                  { name: t.market.paid, end: true },
                  t.menu.campaigns,
                ]}>
                {value.purchases.map((one) => (
                  <tr key={one.id}>
                    <td>{name_of(one.ad_package_id)}</td>
                    <td class="soft">
                      <Time at={one.inserted_at} />
                    </td>
                    <td>
                      <span class={`badge ${one.status === 'completed' ? 'good' : ''}`}>
                        {t.market.states[one.status]}
                      </span>
                    </td>
                    <td class="end number">{number(one.discount_amount)}</td>
                    <td class="end number">{number(one.total_charged)}</td>
                    <td>
                      {one.campaign_ids.map((id, index) => (
                        <Link key={id} href={`/campaigns/campaign/${id}`} aria-label={t.market.campaign_of(index + 1)}>
                          {number(index + 1)}{' '}
                        </Link>
                      ))}
                    </td>
                  </tr>
                ))}
              </Table>
            )
          }
        </Read>
      </Card>
      {buying && (
        <Buy
          app={app}
          of={buying}
          rates={rates.value?.rates ?? []}
          onClose={() => buy(null)}
          onDone={purchases.again}
        />
      )}
    </>
  );
}

const audience_fields: FieldOf<Body<'post', '/api/v1/ads/segments'>>[] = [
  { name: 'name', label: t.app.name },
  { name: 'game_type', kind: 'short', label: t.audiences.game_type, hint: t.audiences.any_hint },
  { name: 'play_tier', kind: 'short', label: t.audiences.play_tier, hint: t.audiences.any_hint },
  { name: 'geography', kind: 'short', label: t.audiences.geography, hint: t.audiences.any_hint, placeholder: 'DE' },
];

function Audiences({ app }: { app: App }) {
  const list = useReading(
    () =>
      every((page) => call('get', '/api/v1/ads/segments', { app: app.id, query: page })).then((pages) =>
        pages.flatMap((page) => page.segments),
      ),
    [app.id],
  );
  const [creating, create] = useState(false);
  return (
    <Card
      title={t.market.tabs.audiences}
      bare
      actions={
        <Button slim icon="plus" kinds={['main-action']} onClick={() => create(true)}>
          {t.audiences.create}
        </Button>
      }>
      <Read of={list}>
        {(value) =>
          value.length === 0 ? (
            <Empty icon="account" title={t.audiences.none} text={t.audiences.none_text} />
          ) : (
            <Table
              label={t.market.tabs.audiences}
              columns={[t.app.name, t.audiences.game_type, t.audiences.play_tier, t.audiences.geography]}>
              {value.map((one) => (
                <tr key={one.id}>
                  <td>{one.name}</td>
                  {[one.game_type, one.play_tier, one.geography].map((part, index) => (
                    <td key={index} class={part ? '' : 'faint'}>
                      {part ?? t.audiences.any}
                    </td>
                  ))}
                </tr>
              ))}
            </Table>
          )
        }
      </Read>
      {creating && (
        <FormDialog
          title={t.audiences.create}
          fields={audience_fields}
          action={t.audiences.create}
          onClose={() => create(false)}
          run={async (body) => {
            await call('post', '/api/v1/ads/segments', { app: app.id, body });
            list.again();
          }}
        />
      )}
    </Card>
  );
}

const parts = { campaigns: Campaigns, places: Places, packages: Packages, audiences: Audiences };

export function MarketScreen({ part, id }: { part: string; id?: string | undefined }) {
  const able = (apps.value ?? []).filter(may_advertise);
  if (!apps.value)
    return (
      <div class="page">
        <Card>
          <Bones />
        </Card>
      </div>
    );
  if (part === 'campaign' && id) return <CampaignScreen key={id} id={id} apps={able} />;
  const app = able.find((one) => one.id === chosen.value) ?? able[0];
  const Part = parts[part as keyof typeof parts] ?? Campaigns;
  return (
    <Page title={t.menu.market} below={<p class="soft">{t.campaigns.text}</p>}>
      {!app ? (
        <section class="card">
          <Empty icon="key" title={t.campaigns.not_able} text={t.campaigns.not_able_text}>
            <LinkButton href="/apps" kinds={['main-action']}>
              {t.menu.apps}
            </LinkButton>
          </Empty>
        </section>
      ) : (
        <>
          {able.length > 1 && (
            <div class="chooser">
              <Entry<{ app: string }>
                field={{
                  name: 'app',
                  label: t.app.one,
                  kind: 'choice',
                  choices: able.map((one) => [one.id, one.app_name]),
                }}
                typed={app.id}
                type={(id) => {
                  chosen.value = id as string;
                }}
              />
            </div>
          )}
          <Tabs
            label={t.market.tabs.label}
            current={part}
            tabs={(Object.keys(parts) as (keyof typeof parts)[]).map((key) => ({
              key,
              name: t.market.tabs[key],
              href: key === 'campaigns' ? '/campaigns' : `/campaigns/${key}`,
            }))}
          />
          <Part key={app.id} app={app} />
        </>
      )}
    </Page>
  );
}
