// One campaign: what it reaches and costs, where it is shown and to whom; pausing, topping up, ending.
import { useMemo, useState } from 'preact/hooks';
import { type Answer, ApiError, type Body, call, every } from '../api';
import { Confirm, type FieldOf, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { Plot } from '../components/plot';
import { whole } from '../components/sum';
import { Read, Table } from '../components/table';
import { Bones, Button, Card, Empty, Failed, LinkButton, Menu, Meter, Page, Time } from '../components/ui';
import { useReading } from '../components/use';
import { type App, app_of } from '../data';
import { number } from '../format';
import { t } from '../messages';
import { useBalance } from './balance';
import { Creatives } from './creatives';

type Campaign = Answer<'get', '/api/external/campaigns'>['campaigns'][number];
type Placement = Answer<'get', '/api/v1/ads/campaigns/{id}/placements'>['placements'][number];
type Segment = Body<'post', '/api/v1/ads/campaigns/{id}/placements/{placement_id}/segments'>;
export const marks = { active: 'good', paused: '', exhausted: 'warn', cancelled: '' } as const;
const placement_marks = { active: 'good', paused: '', depleted: 'warn' } as const;

// Whom a campaign is for: values separated by commas, one of which has to match.
export interface Targeting {
  game_type: string;
  play_tier: string;
  geography: string;
}
export function targeting_of(typed: { [K in keyof Targeting]?: string | undefined }): Record<string, string[]> | null {
  const parts = Object.entries(typed).map(
    ([name, text]) =>
      [
        name,
        (text ?? '')
          .split(',')
          .map((one) => one.trim())
          .filter(Boolean),
      ] as const,
  );
  const given = parts.filter(([, values]) => values.length > 0);
  return given.length ? Object.fromEntries(given) : null;
}

// The campaign and its app, which the address doesn't name.
async function find(id: string, apps: App[]): Promise<{ app: App; campaign: Campaign } | null> {
  for (const app of apps) {
    try {
      return {
        app,
        campaign: (await call('get', '/api/external/campaigns/{id}', { app: app.id, path: { id } })).campaign,
      };
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 403)) throw error;
    }
  }
  return null;
}

type Placing = Body<'post', '/api/v1/ads/campaigns/{id}/placements'>;
const amounts: FieldOf<Placing>[] = [
  { name: 'allocated_budget', label: t.placements.budget, kind: 'number', hint: t.placements.budget_hint },
  { name: 'impressions_target', label: t.placements.target, kind: 'number', hint: t.placements.target_hint },
];
const place_fields = (choices: [string, string][]): FieldOf<Placing>[] => [
  { name: 'ad_placement_id', label: t.placements.place, kind: 'choice', choices },
  ...amounts,
];

function Placements({ app, campaign }: { app: App; campaign: Campaign }) {
  const path = { id: campaign.id };
  const list = useReading(
    () => call('get', '/api/v1/ads/campaigns/{id}/placements', { app: app.id, path, query: { page_size: 100 } }),
    [campaign.id],
  );
  const places = useReading(
    () =>
      every((page) => call('get', '/api/v1/ads/placements', { app: app.id, query: page })).then((pages) =>
        pages.flatMap((page) => page.placements),
      ),
    [app.id],
  );
  const audiences = useReading(
    () =>
      every((page) => call('get', '/api/v1/ads/segments', { app: app.id, query: page })).then((pages) =>
        pages.flatMap((page) => page.segments),
      ),
    [app.id],
  );
  const [asking, ask] = useState<
    { what: 'place' } | { what: 'change' | 'aim' | 'audience' | 'remove'; placement: Placement } | null
  >(null);
  const close = () => ask(null);
  const name_of = (id: string) => places.value?.find((one) => one.id === id)?.name ?? id;
  const fitting = (places.value ?? []).filter(
    (one) =>
      one.is_active &&
      one.surface_type === campaign.surface_type &&
      !list.value?.placements.some((placement) => placement.ad_placement_id === one.id),
  );
  const live = campaign.status === 'active' || campaign.status === 'paused';
  async function set(placement: Placement, status: 'active' | 'paused') {
    await call('patch', '/api/v1/ads/campaigns/{id}/placements/{placement_id}', {
      app: app.id,
      path: { ...path, placement_id: placement.id },
      body: { status },
    }).catch((failure: ApiError) => note(failure.message));
    list.again();
  }
  const items = (placement: Placement) => [
    placement.status === 'active'
      ? { name: t.campaigns.pause, icon: 'pause' as const, run: () => void set(placement, 'paused') }
      : { name: t.campaigns.go_on, icon: 'play' as const, run: () => void set(placement, 'active') },
    { name: t.placements.change, icon: 'edit' as const, run: () => ask({ what: 'change', placement }) },
    { name: t.placements.aim, icon: 'account' as const, run: () => ask({ what: 'aim', placement }) },
    ...(audiences.value?.length
      ? [{ name: t.placements.audience, icon: 'account' as const, run: () => ask({ what: 'audience', placement }) }]
      : []),
    { name: t.placements.remove, icon: 'trash' as const, danger: true, run: () => ask({ what: 'remove', placement }) },
  ];
  const aim = (placement: Placement) => async (body: Segment) => {
    await call('post', '/api/v1/ads/campaigns/{id}/placements/{placement_id}/segments', {
      app: app.id,
      path: { ...path, placement_id: placement.id },
      body,
    });
    list.again();
  };
  return (
    <Card
      title={t.placements.heading}
      bare
      actions={
        live && (
          <Button slim icon="plus" disabled={fitting.length === 0} onClick={() => ask({ what: 'place' })}>
            {t.placements.add}
          </Button>
        )
      }>
      <Read of={list}>
        {(value) =>
          value.placements.length === 0 ? (
            <p class="body soft">
              {t.placements.none} {places.value && fitting.length === 0 && t.placements.none_fits}
            </p>
          ) : (
            <Table
              label={t.placements.heading}
              columns={[
                t.placements.place,
                t.webhooks.state,
                { name: t.placements.budget, end: true },
                t.placements.delivered,
                t.placements.viewers,
                { name: t.admin.action, unseen: true },
              ]}>
              {value.placements.map((placement) => (
                <tr key={placement.id}>
                  <td>{name_of(placement.ad_placement_id)}</td>
                  <td>
                    <span class={`badge ${placement_marks[placement.status]}`}>
                      {t.placements.states[placement.status]}
                    </span>
                  </td>
                  <td class="end number">{number(placement.allocated_budget)}</td>
                  <td>
                    <span class="number">
                      {number(placement.impressions_delivered)}{' '}
                      <span class="small faint">{t.campaigns.of(number(placement.impressions_target))}</span>
                    </span>
                    <Meter
                      label={t.placements.delivered}
                      value={placement.impressions_delivered}
                      of={placement.impressions_target}
                    />
                  </td>
                  <td>
                    {placement.segments.length === 0 ? (
                      <span class="faint">{t.placements.everybody}</span>
                    ) : (
                      placement.segments.map((segment) => (
                        <div class="small" key={segment.id}>
                          {t.audiences[segment.segment_type]} {t.placements.modes[segment.match_mode]}{' '}
                          {segment.segment_value}
                        </div>
                      ))
                    )}
                  </td>
                  <td class="end">
                    {live && (
                      <Menu label={t.placements.more(name_of(placement.ad_placement_id))} items={items(placement)} />
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Read>
      {asking?.what === 'place' && (
        <FormDialog
          title={t.placements.add}
          fields={place_fields(fitting.map((one) => [one.id, one.name]))}
          action={t.placements.add}
          onClose={close}
          run={async (body) => {
            await call('post', '/api/v1/ads/campaigns/{id}/placements', { app: app.id, path, body });
            list.again();
          }}
        />
      )}
      {asking?.what === 'change' && (
        <FormDialog
          title={t.placements.change}
          fields={amounts}
          values={asking.placement}
          changes
          action={t.app.save}
          onClose={close}
          run={async (body) => {
            await call('patch', '/api/v1/ads/campaigns/{id}/placements/{placement_id}', {
              app: app.id,
              path: { ...path, placement_id: asking.placement.id },
              body: body as never,
            });
            list.again();
          }}
        />
      )}
      {asking?.what === 'aim' && (
        <FormDialog<Segment>
          title={t.placements.aim}
          action={t.placements.aim}
          onClose={close}
          run={aim(asking.placement)}
          fields={[
            {
              name: 'segment_type',
              label: t.placements.attribute,
              kind: 'choice',
              choices: [
                ['geography', t.audiences.geography],
                ['game_type', t.audiences.game_type],
                ['play_tier', t.audiences.play_tier],
              ],
            },
            {
              name: 'match_mode',
              label: t.placements.match,
              kind: 'choice',
              choices: Object.entries(t.placements.match_modes),
            },
            { name: 'segment_value', label: t.domain.value, hint: t.placements.value_hint },
          ]}>
          <p class="soft">{t.placements.aim_text}</p>
        </FormDialog>
      )}
      {asking?.what === 'audience' && (
        <FormDialog<Segment>
          title={t.placements.audience}
          action={t.placements.aim}
          onClose={close}
          run={aim(asking.placement)}
          fields={[
            {
              name: 'audience_segment_id',
              label: t.placements.audience,
              kind: 'choice',
              choices: (audiences.value ?? []).map((one) => [one.id, one.name]),
            },
          ]}>
          <p class="soft">{t.placements.aim_text}</p>
        </FormDialog>
      )}
      {asking?.what === 'remove' && (
        <Confirm
          title={t.placements.remove_title(name_of(asking.placement.ad_placement_id))}
          action={t.placements.remove}
          danger
          onClose={close}
          run={async () => {
            await call('delete', '/api/v1/ads/campaigns/{id}/placements/{placement_id}', {
              app: app.id,
              path: { ...path, placement_id: asking.placement.id },
            });
            list.again();
          }}>
          <p>{t.placements.remove_text}</p>
        </Confirm>
      )}
    </Card>
  );
}

function Loaded({ app, campaign, again }: { app: App; campaign: Campaign; again: () => void }) {
  const [asking, ask] = useState<'top_up' | 'cancel' | null>(null);
  const balance = useBalance(app.id);
  const path = { id: campaign.id };
  const figures = useReading(
    () => call('get', '/api/v1/ads/campaigns/{id}/analytics', { path, app: app.id }),
    [campaign.id],
  );
  const daily = figures.value?.daily ?? [];
  const [times, lines] = useMemo(
    () =>
      [
        daily.map((day) => Date.parse(day.date) / 1_000),
        [{ name: t.campaigns.spent, values: daily.map((day) => day.spend) }],
      ] as const,
    [figures.value],
  );
  const live = campaign.status === 'active' || campaign.status === 'paused';
  const returned = campaign.remaining + campaign.reserved; // if it ends now
  const targeting = Object.entries(campaign.targeting_metadata ?? {});
  async function set(status: 'active' | 'paused') {
    await call('put', '/api/external/campaigns/{id}', { path, app: app.id, body: { status } }).catch(
      (failure: ApiError) => note(failure.message),
    );
    again();
  }
  return (
    <Page
      title={campaign.name}
      crumbs={[[t.menu.market, '/campaigns']]}
      badge={
        <span class={`badge ${marks[campaign.status]}`} role="status">
          {t.campaigns.states[campaign.status]}
        </span>
      }
      actions={
        live && (
          <>
            {campaign.status === 'active' ? (
              <Button icon="pause" onClick={() => set('paused')}>
                {t.campaigns.pause}
              </Button>
            ) : (
              <Button icon="play" onClick={() => set('active')}>
                {t.campaigns.go_on}
              </Button>
            )}
            <Button icon="plus" onClick={() => ask('top_up')}>
              {t.campaigns.top_up}
            </Button>
            <Button kinds={['danger']} icon="stop" onClick={() => ask('cancel')}>
              {t.campaigns.cancel}
            </Button>
          </>
        )
      }>
      <div class="columns">
        <Card title={t.campaigns.results} bare>
          <Read of={figures}>
            {({ summary }) => (
              <div class="body stack wide">
                <div class="figures">
                  <div class="figure">
                    <span class="small faint">{t.campaigns.impressions}</span>
                    <span class="value">{number(summary.total_impressions)}</span>
                  </div>
                  <div class="figure">
                    <span class="small faint">{t.campaigns.clicks}</span>
                    <span class="value">{number(summary.total_clicks)}</span>
                  </div>
                  <div class="figure">
                    <span class="small faint">{t.campaigns.click_rate}</span>
                    <span class="value">
                      {number(summary.ctr)} <small>%</small>
                    </span>
                  </div>
                  <div class="figure">
                    <span class="small faint">{t.campaigns.spent}</span>
                    <span class="value">{number(summary.total_spend)}</span>
                  </div>
                </div>
                {times.length > 1 ? (
                  <Plot times={times} lines={lines} label={t.campaigns.plot(campaign.name)} />
                ) : (
                  <p class="soft small">{t.campaigns.no_days}</p>
                )}
              </div>
            )}
          </Read>
        </Card>
        <Card title={t.app.details}>
          <div class="stack">
            <Meter label={t.campaigns.spent} value={campaign.spent} of={campaign.budget} />
            <dl class="facts">
              <dt>{t.campaigns.budget}</dt>
              <dd class="number">{t.points(campaign.budget)}</dd>
              <dt>{t.campaigns.remaining}</dt>
              <dd class="number">{t.points(campaign.remaining)}</dd>
              {campaign.reserved > 0 && (
                <>
                  <dt>{t.campaigns.reserved}</dt>
                  <dd>
                    <span class="number">{t.points(campaign.reserved)}</span>
                    <div class="small faint">{t.campaigns.reserved_hint}</div>
                  </dd>
                </>
              )}
              <dt>{t.campaigns.rake}</dt>
              <dd class="number">{t.points(campaign.rake_amount)}</dd>
              {campaign.refunded > 0 && (
                <>
                  <dt>{t.campaigns.refunded}</dt>
                  <dd class="number">{t.points(campaign.refunded)}</dd>
                </>
              )}
              <dt>{t.campaigns.rate}</dt>
              <dd class="number">{t.points(campaign.payout_rate)}</dd>
              <dt>{t.campaigns.surface}</dt>
              <dd>{t.campaigns.surfaces[campaign.surface_type]}</dd>
              <dt>{t.campaigns.ends}</dt>
              <dd>{campaign.ends_at ? <Time at={campaign.ends_at} /> : t.campaigns.with_budget}</dd>
              <dt>{t.placements.viewers}</dt>
              <dd>
                {targeting.length
                  ? targeting.map(([name, value]) => (
                      <div key={name}>
                        {name in t.audiences ? t.audiences[name as 'geography'] : name}:{' '}
                        {([] as unknown[]).concat(value).join(', ')}
                      </div>
                    ))
                  : t.placements.everybody}
              </dd>
              <dt>{t.app.one}</dt>
              <dd>{app_of(app.id)?.app_name}</dd>
            </dl>
          </div>
        </Card>
      </div>
      <Creatives app={app} campaign={campaign} again={again} />
      <Placements app={app} campaign={campaign} />
      {asking === 'top_up' && (
        <FormDialog<{ additional_payment: number }>
          title={t.campaigns.top_up_title(campaign.name)}
          action={t.campaigns.top_up}
          onClose={() => ask(null)}
          fields={[
            {
              name: 'additional_payment',
              label: t.menu.points,
              kind: 'number',
              hint: t.campaigns.total_hint,
              errors: ['insufficient_balance'],
            },
          ]}
          cost={({ additional_payment }) => ({
            now: whole(additional_payment),
            later: t.campaigns.no_more,
            balance,
            app: app.id,
          })}
          run={async (body, once) => {
            await call('put', '/api/external/campaigns/{id}', { path, app: app.id, once, body });
            again();
          }}
        />
      )}
      {asking === 'cancel' && (
        <Confirm
          title={t.campaigns.cancel_title(campaign.name)}
          action={t.campaigns.cancel}
          danger
          onClose={() => ask(null)}
          cost={() => ({ now: -returned, balance })}
          run={async () => {
            const answer = await call('delete', '/api/external/campaigns/{id}', { path, app: app.id });
            note(t.campaigns.cancelled(number(answer.refunded)));
            again();
          }}>
          <p>{t.campaigns.cancel_text(number(returned))}</p>
        </Confirm>
      )}
    </Page>
  );
}

export function CampaignScreen({ id, apps }: { id: string; apps: App[] }) {
  const found = useReading(() => find(id, apps), [id]);
  if (found.value) return <Loaded {...found.value} again={found.again} />;
  return (
    <Page title={t.menu.campaigns} crumbs={[[t.menu.market, '/campaigns']]}>
      {found.error ? (
        <Failed error={found.error} again={found.again} />
      ) : found.value === null && !found.done ? (
        <Card>
          <Bones />
        </Card>
      ) : (
        <section class="card">
          <Empty icon="send" title={t.lost.again} text={t.campaigns.gone_text}>
            <LinkButton href="/campaigns" kinds={['main-action']}>
              {t.menu.market}
            </LinkButton>
          </Empty>
        </section>
      )}
    </Page>
  );
}
