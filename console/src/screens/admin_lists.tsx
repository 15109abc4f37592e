// For admins: lists whose items are created and changed by a form: tiers, the market of ads, the shop, learning.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Body, call, every } from '../api';
import { Confirm, type FieldOf, FormDialog, useDraft } from '../components/form';
import { note } from '../components/notes';
import { type Column, Read, Table } from '../components/table';
import { Bones, Button, Card, Empty, Failed } from '../components/ui';
import { useReading } from '../components/use';
import { load } from '../data';
import { cpu, date, date_and_time, memory, number } from '../format';
import { t } from '../messages';
import { may, type Me } from '../session';

// A list of T, whose items are created by C and changed by P.
interface ListOf<T, C, P> {
  title: string;
  create: string; // what the button says
  none: string;
  read: () => Promise<T[]>;
  name: (item: T) => string;
  columns: Column[];
  cells: (item: T) => ComponentChildren[]; // one for each column but the first, which has the name
  values: (item: T) => Partial<Record<keyof P & string, unknown>>;
  fields: FieldOf<C>[];
  fixed?: (keyof C & string)[]; // fields that can't be changed later
  defaults?: Partial<Record<keyof C & string, unknown>>;
  roles?: Me['admin_role'][]; // that may change an item, beside admin
  add: (body: C) => Promise<unknown>;
  change: (id: string, body: P) => Promise<unknown>;
  // What a change will do, if somebody should see that before it does it.
  effect?: (item: T, body: P) => { title: string; shown: ComponentChildren } | null;
}

function List<T extends { id: string }, C extends object, P extends object>({ of }: { of: ListOf<T, C, P> }) {
  const list = useReading(of.read, []);
  const [asking, ask] = useState<'create' | T | null>(null);
  // A change that is asked about; what was typed stays until it is made.
  const [sure, be_sure] = useState<{ item: T; body: P; made: boolean } | null>(null);
  const [typed, type] = useDraft();
  const done = () => {
    note(t.app.changed);
    list.again();
  };
  const change = (item: T) => {
    type({});
    ask(item);
  };
  const effect = sure && of.effect?.(sure.item, sure.body);
  const changeable = of.fields.filter(
    (field) => !(of.fixed as string[] | undefined)?.includes(field.name),
  ) as unknown as FieldOf<P>[];
  const aligned = (index: number) => {
    const column = of.columns[index + 1];
    return typeof column === 'object' && column.end ? 'end number' : undefined;
  };
  return (
    <Card
      title={of.title}
      bare
      actions={
        may() && (
          <Button slim kinds={['main-action']} icon="plus" onClick={() => ask('create')}>
            {of.create}
          </Button>
        )
      }>
      <Read of={list}>
        {(items) =>
          items.length === 0 ? (
            <Empty icon="book" title={t.lists.none} text={of.none} />
          ) : (
            <Table label={of.title} columns={[...of.columns, { name: t.admin.action, unseen: true }]}>
              {items.map((item) => (
                <tr key={item.id}>
                  <td>
                    <strong>{of.name(item)}</strong>
                  </td>
                  {of.cells(item).map((cell, index) => (
                    <td key={index} class={aligned(index)}>
                      {cell}
                    </td>
                  ))}
                  <td class="end">
                    {may(...(of.roles ?? [])) && (
                      <Button
                        slim
                        icon="edit"
                        kinds={['plain']}
                        label={t.lists.change(of.name(item))}
                        onClick={() => change(item)}
                      />
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Read>
      {asking === 'create' && (
        <FormDialog<C>
          title={of.create}
          fields={of.fields}
          values={of.defaults}
          action={of.create}
          onClose={() => ask(null)}
          run={async (body) => {
            await of.add(body);
            done();
          }}
        />
      )}
      {asking && asking !== 'create' && (
        <FormDialog<P>
          title={t.lists.change(of.name(asking))}
          fields={changeable}
          values={of.values(asking)}
          changes
          draft={[typed, type, () => {}]}
          action={t.app.save}
          onClose={() => ask(null)}
          run={async (body) => {
            if (of.effect?.(asking, body)) return be_sure({ item: asking, body, made: false });
            await of.change(asking.id, body);
            done();
          }}
        />
      )}
      {sure && effect && (
        <Confirm
          title={effect.title}
          action={t.app.save}
          onClose={() => {
            be_sure(null);
            if (!sure.made) ask(sure.item);
          }}
          run={async () => {
            await of.change(sure.item.id, sure.body);
            sure.made = true;
            done();
          }}>
          {effect.shown}
        </Confirm>
      )}
    </Card>
  );
}

const yes_or_no = (yes: boolean) => <span class={`badge ${yes ? 'good' : ''}`}>{yes ? t.lists.yes : t.lists.no}</span>;
const surfaces = Object.entries(t.campaigns.surfaces);
const active = { name: 'is_active' as const, label: t.lists.active, kind: 'check' as const };
const end = (name: string): Column => ({ name, end: true });

// What another price by the hour will do.
function PriceChange({ id, then }: { id: string; then: number | null }) {
  const change = useReading(
    () =>
      call('get', '/api/internal/deploy/tiers/{id}/price-change', {
        path: { id },
        query: then === null ? {} : { points_per_hour: then },
      }),
    [id, then],
  );
  if (change.error) return <Failed error={change.error} again={change.again} />;
  if (!change.value) return <Bones />;
  const { points_per_hour, applies_from, deployments, apps, points_a_day, short_of_points } = change.value;
  return (
    <>
      <p>
        {t.tier_form.hour_change(points_per_hour.now, points_per_hour.then, date_and_time(Date.parse(applies_from)))}
      </p>
      <dl class="facts">
        <dt>{t.tier_form.affected}</dt>
        <dd>{t.tier_form.hour_affects(deployments, apps)}</dd>
        <dt>{t.tier_form.day_now}</dt>
        <dd class="number">{t.points(points_a_day.now)}</dd>
        <dt>{t.tier_form.day_then}</dt>
        <dd class="number">{t.points(points_a_day.then)}</dd>
        <dt>{t.tier_form.short}</dt>
        <dd class="number">{number(change.value.apps_short_of_points)}</dd>
      </dl>
      {short_of_points.length > 0 && (
        <ul class="stack tight small">
          {short_of_points.map((app) => (
            <li key={app.app_id}>
              {app.app_name}: {t.tier_form.short_of(app.balance, app.points_a_day)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

type Tier = Body<'post', '/api/internal/deploy/tiers'>;
export function Tiers() {
  return (
    <>
      <p class="soft">{t.tier_form.text}</p>
      <List
        of={{
          title: t.admin.tabs.tiers,
          create: t.tier_form.create,
          roles: ['finance'],
          none: '',
          defaults: {
            memory_limit_mb: 512,
            cpu_limit_millicores: 500,
            monthly_cost_points: 0,
            payment_method: 'service_points',
            max_replicas: 3,
          },
          read: async () => (await call('get', '/api/internal/deploy/tiers')).tiers,
          name: (tier) => tier.name,
          columns: [
            t.app.name,
            t.tier_form.slug,
            end(t.tier_form.price),
            end(t.tier_form.hour),
            t.tier_form.size,
            t.tier_form.columns.max,
            end(t.tier_form.columns.containers),
            t.tier_form.columns.domains,
            t.tier_form.columns.commands,
            t.tier_form.columns.automatic,
          ],
          cells: (tier) => [
            <code>{tier.slug}</code>,
            tier.monthly_cost_points === null || tier.monthly_cost_points === undefined
              ? t.tier_form.sats(number(tier.monthly_cost_sats ?? 0))
              : number(tier.monthly_cost_points),
            tier.points_per_hour === null ? '–' : number(tier.points_per_hour),
            t.tiers.size(memory(tier.memory_limit_mb), cpu(tier.cpu_limit_millicores)),
            tier.limits.max_deployments === null ? t.tier_form.no_limit : number(tier.limits.max_deployments),
            number(tier.max_replicas),
            yes_or_no(tier.custom_domain_allowed),
            yes_or_no(tier.exec_allowed),
            yes_or_no(tier.auto_approve),
          ],
          values: (tier) => ({ ...tier, max_deployments: tier.limits.max_deployments }),
          fixed: ['slug', 'payment_method'],
          fields: [
            { name: 'name', kind: 'short', label: t.app.name },
            { name: 'slug', kind: 'short', label: t.tier_form.slug, hint: t.tier_form.slug_hint, mono: true },
            { name: 'description', label: t.app.description, kind: 'long' },
            {
              name: 'payment_method',
              label: t.tier_form.method,
              kind: 'choice',
              choices: Object.entries(t.tier_form.methods),
            },
            { name: 'monthly_cost_points', label: t.tier_form.price, kind: 'number', hint: t.tier_form.price_hint },
            { name: 'points_per_hour', label: t.tier_form.hour, kind: 'number', hint: t.tier_form.hour_hint },
            { name: 'memory_limit_mb', label: t.tier_form.memory, kind: 'number' },
            { name: 'cpu_limit_millicores', label: t.tier_form.cpu, kind: 'number' },
            { name: 'max_deployments', label: t.tier_form.max, kind: 'number', hint: t.tier_form.max_hint },
            { name: 'max_replicas', label: t.tier_form.containers, kind: 'number', hint: t.tier_form.containers_hint },
            {
              name: 'monthly_stipend_points',
              label: t.tier_form.stipend,
              kind: 'number',
              hint: t.tier_form.stipend_hint,
            },
            { name: 'build_points_per_minute', label: t.tier_form.build_price, kind: 'number' },
            { name: 'ad_reach_multiplier', kind: 'short', label: t.tier_form.reach, hint: t.tier_form.reach_hint },
            { name: 'custom_domain_allowed', label: t.tier_form.domains, kind: 'check' },
            { name: 'exec_allowed', label: t.tier_form.commands, kind: 'check', hint: t.tier_form.commands_hint },
            { name: 'auto_approve', label: t.tier_form.automatic, kind: 'check', hint: t.tier_form.automatic_hint },
          ] as FieldOf<Tier>[],
          add: (body) => call('post', '/api/internal/deploy/tiers', { body }).then(load),
          change: (id, body: Body<'patch', '/api/internal/deploy/tiers/{id}'>) =>
            call('patch', '/api/internal/deploy/tiers/{id}', { path: { id }, body }).then(load),
          effect: (tier, { points_per_hour: then }) =>
            // What isn't a number berthd refuses with the change itself.
            then === undefined || (typeof then !== 'number' && then !== null)
              ? null
              : { title: t.tier_form.hour_title(tier.name), shown: <PriceChange id={tier.id} then={then} /> },
        }}
      />
    </>
  );
}

const placements = async () =>
  (await every((page) => call('get', '/api/internal/ads/placements', { query: page }))).flatMap(
    (page) => page.placements,
  );

export function Market() {
  const places = useReading(placements, []);
  const name_of = (id: string) => places.value?.find((one) => one.id === id)?.name ?? id;
  return (
    <>
      <List
        of={{
          title: t.market.places,
          create: t.lists.new_place,
          none: t.market.no_places_text,
          defaults: { is_active: true },
          read: placements,
          name: (place) => place.name,
          columns: [t.app.name, t.campaigns.surface, t.app.description, t.app.one, t.lists.active],
          cells: (place) => [
            t.campaigns.surfaces[place.surface_type],
            <span class="soft break">{place.description || '–'}</span>,
            place.app_id ? <code>{place.app_id}</code> : t.lists.any_app,
            yes_or_no(place.is_active),
          ],
          values: (place) => place,
          fixed: ['surface_type', 'app_id'],
          fields: [
            { name: 'name', label: t.app.name },
            { name: 'surface_type', label: t.campaigns.surface, kind: 'choice', choices: surfaces },
            { name: 'app_id', label: t.lists.app_id, mono: true, hint: t.lists.app_id_hint },
            { name: 'description', label: t.app.description, kind: 'long' },
            active,
          ] as FieldOf<Body<'post', '/api/internal/ads/placements'>>[],
          add: (body) => call('post', '/api/internal/ads/placements', { body }).then(places.again),
          change: (id, body: Body<'patch', '/api/internal/ads/placements/{id}'>) =>
            call('patch', '/api/internal/ads/placements/{id}', { path: { id }, body }),
        }}
      />
      {places.value && places.value.length > 0 && (
        <List
          key={places.value.length}
          of={{
            title: t.lists.prices,
            create: t.lists.new_price,
            none: t.lists.no_prices,
            read: async () =>
              (await every((page) => call('get', '/api/internal/ads/pricing', { query: page }))).flatMap(
                (page) => page.pricing,
              ),
            name: (price) => name_of(price.ad_placement_id),
            columns: [
              t.placements.place,
              end(t.market.base),
              end(t.market.least),
              end(t.market.most),
              end(t.market.rate),
              t.lists.valid,
            ],
            cells: (price) => [
              number(price.base_rate),
              number(price.min_rate),
              number(price.max_rate),
              number(price.effective_rate),
              <span class="soft">
                {date(price.effective_from)} – {price.effective_until ? date(price.effective_until) : '…'}
              </span>,
            ],
            values: (price) => price,
            fixed: ['ad_placement_id'],
            fields: [
              {
                name: 'ad_placement_id',
                label: t.placements.place,
                kind: 'choice',
                choices: places.value.map((place) => [place.id, place.name]),
              },
              { name: 'base_rate', label: t.market.base, kind: 'number' },
              { name: 'min_rate', label: t.market.least, kind: 'number' },
              { name: 'max_rate', label: t.market.most, kind: 'number' },
              { name: 'effective_from', label: t.lists.from, kind: 'time' },
              { name: 'effective_until', label: t.lists.until, kind: 'time' },
            ] as FieldOf<Body<'post', '/api/internal/ads/pricing'>>[],
            add: (body) => call('post', '/api/internal/ads/pricing', { body }),
            change: (id, body: Body<'patch', '/api/internal/ads/pricing/{id}'>) =>
              call('patch', '/api/internal/ads/pricing/{id}', { path: { id }, body }),
          }}
        />
      )}
      <List
        of={{
          title: t.market.tabs.packages,
          create: t.lists.new_package,
          none: t.market.no_packages_text,
          defaults: { is_active: true, min_surfaces: 1, min_impressions: 1000 },
          read: async () =>
            (await every((page) => call('get', '/api/internal/ads/packages', { query: page }))).flatMap(
              (page) => page.packages,
            ),
          name: (one) => one.name,
          columns: [
            t.app.name,
            end(t.lists.discount),
            end(t.lists.min_surfaces),
            end(t.lists.min_impressions),
            t.lists.active,
          ],
          cells: (one) => [
            `${number(one.discount_percentage)} %`,
            number(one.min_surfaces),
            number(one.min_impressions),
            yes_or_no(one.is_active),
          ],
          values: (one) => one,
          fields: [
            { name: 'name', label: t.app.name },
            { name: 'description', label: t.app.description, kind: 'long' },
            { name: 'discount_percentage', label: t.lists.discount, kind: 'number' },
            { name: 'min_surfaces', label: t.lists.min_surfaces, kind: 'number' },
            { name: 'min_impressions', label: t.lists.min_impressions, kind: 'number' },
            active,
          ] as FieldOf<Body<'post', '/api/internal/ads/packages'>>[],
          add: (body) => call('post', '/api/internal/ads/packages', { body }),
          change: (id, body: Body<'patch', '/api/internal/ads/packages/{id}'>) =>
            call('patch', '/api/internal/ads/packages/{id}', { path: { id }, body }),
        }}
      />
      <List
        of={{
          title: t.market.tabs.audiences,
          create: t.audiences.create,
          none: t.audiences.none_text,
          read: async () =>
            (await every((page) => call('get', '/api/internal/ads/segments', { query: page }))).flatMap(
              (page) => page.segments,
            ),
          name: (one) => one.name,
          columns: [t.app.name, t.audiences.game_type, t.audiences.play_tier, t.audiences.geography],
          cells: (one) =>
            [one.game_type, one.play_tier, one.geography].map(
              (part) => part ?? <span class="faint">{t.audiences.any}</span>,
            ),
          values: (one) => one,
          fields: [
            { name: 'name', label: t.app.name },
            { name: 'game_type', kind: 'short', label: t.audiences.game_type, hint: t.audiences.any_hint },
            { name: 'play_tier', kind: 'short', label: t.audiences.play_tier, hint: t.audiences.any_hint },
            { name: 'geography', kind: 'short', label: t.audiences.geography, hint: t.audiences.any_hint },
          ] as FieldOf<Body<'post', '/api/internal/ads/segments'>>[],
          add: (body) => call('post', '/api/internal/ads/segments', { body }),
          change: (id, body: Body<'patch', '/api/internal/ads/segments/{id}'>) =>
            call('patch', '/api/internal/ads/segments/{id}', { path: { id }, body }),
        }}
      />
    </>
  );
}

export function Shop() {
  return (
    <List
      of={{
        title: t.admin.tabs.shop,
        create: t.shop.create,
        none: t.shop.none_text,
        defaults: { available: true },
        read: async () =>
          (await every((page) => call('get', '/api/internal/cosmetics', { query: page }))).flatMap(
            (page) => page.cosmetics,
          ),
        name: (item) => item.name,
        columns: [t.app.name, t.shop.category, t.shop.rarity, end(t.shop.price), t.shop.available],
        cells: (item) => [
          t.shop.categories[item.category],
          t.shop.rarities[item.rarity],
          number(item.price_points),
          yes_or_no(item.available),
        ],
        values: (item) => item,
        fixed: ['category'],
        fields: [
          { name: 'name', label: t.app.name },
          { name: 'description', label: t.app.description, kind: 'long' },
          { name: 'category', label: t.shop.category, kind: 'choice', choices: Object.entries(t.shop.categories) },
          { name: 'rarity', label: t.shop.rarity, kind: 'choice', choices: Object.entries(t.shop.rarities) },
          { name: 'price_points', label: t.shop.price, kind: 'number' },
          { name: 'asset_url', label: t.shop.asset, mono: true },
          { name: 'available', label: t.shop.available, kind: 'check' },
        ] as FieldOf<Body<'post', '/api/internal/cosmetics'>>[],
        add: (body) => call('post', '/api/internal/cosmetics', { body }),
        change: (id, body: Body<'patch', '/api/internal/cosmetics/{id}'>) =>
          call('patch', '/api/internal/cosmetics/{id}', { path: { id }, body }),
      }}
    />
  );
}

export function Learning() {
  return (
    <List
      of={{
        title: t.admin.tabs.learning,
        create: t.learning.create,
        none: t.learning.none_text,
        defaults: { active: true, min_seconds: 0, points: 0 },
        read: async () =>
          (await every((page) => call('get', '/api/internal/learning/modules', { query: page }))).flatMap(
            (page) => page.modules,
          ),
        name: (module) => `${number(module.module_number)}. ${module.title}`,
        columns: [t.learning.title, end(t.learning.steps), end(t.learning.points), t.learning.repeats, t.lists.active],
        cells: (module) => [
          number(module.total),
          number(module.points),
          module.repeat_after_seconds ? t.learning.after(number(module.repeat_after_seconds)) : t.learning.once,
          yes_or_no(module.active),
        ],
        values: (module) => module,
        fields: [
          { name: 'title', label: t.learning.title },
          { name: 'description', label: t.app.description, kind: 'long' },
          { name: 'module_number', label: t.learning.number, kind: 'number', hint: t.learning.number_hint },
          { name: 'total', label: t.learning.steps, kind: 'number' },
          { name: 'points', label: t.learning.points, kind: 'number' },
          { name: 'min_seconds', label: t.learning.least, kind: 'number' },
          { name: 'repeat_after_seconds', label: t.learning.repeat, kind: 'number', hint: t.learning.repeat_hint },
          { name: 'active', label: t.lists.active, kind: 'check' },
        ] as FieldOf<Body<'post', '/api/internal/learning/modules'>>[],
        add: (body) => call('post', '/api/internal/learning/modules', { body }),
        change: (id, body: Body<'patch', '/api/internal/learning/modules/{id}'>) =>
          call('patch', '/api/internal/learning/modules/{id}', { path: { id }, body }),
      }}
    />
  );
}
