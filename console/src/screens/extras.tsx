// What an account has beside its points: an avatar, items for it, and the learning modules.
import { useState } from 'preact/hooks';
import { type Answer, ApiError, type Body, call, every } from '../api';
import { Confirm, type FieldOf, Form, FormDialog } from '../components/form';
import { note } from '../components/notes';
import type { Cost } from '../components/sum';
import { Read, Table } from '../components/table';
import { Button, Card, Empty, Meter, Page, Tabs, Time } from '../components/ui';
import { useReading, useReturn } from '../components/use';
import { number } from '../format';
import { t } from '../messages';
import { me, reload_me } from '../session';

type Item = Answer<'get', '/api/cosmetics'>['cosmetics'][number];

const owned = async () =>
  (await every((page) => call('get', '/api/cosmetics/mine', { query: page }))).flatMap((page) => page.cosmetics);

async function id_of_user(name: string): Promise<string> {
  const { users } = await call('get', '/api/social/users/search', { query: { q: name } });
  const found = users.find((user) => user.username.toLowerCase() === name.toLowerCase());
  if (!found) throw new ApiError(404, 'user_not_found', t.extras.no_user);
  return found.id;
}

function Shop() {
  const items = useReading(
    async () =>
      (await every((page) => call('get', '/api/cosmetics', { query: page }))).flatMap((page) => page.cosmetics),
    [],
  );
  const mine = useReading(owned, []);
  const [asking, ask] = useState<{ what: 'buy' | 'give'; item: Item } | null>(null);
  const has = (item: Item) => mine.value?.some((one) => one.cosmetic_item_id === item.id);
  const done = () => {
    mine.again();
    void reload_me();
  };
  useReturn(() => void reload_me());
  const cost_of = (item: Item): Cost => ({
    now: item.price_points,
    balance: me.value!.points,
    whose: t.sum.you_have,
  });
  return (
    <>
      <Read of={items}>
        {(all) =>
          all.length === 0 ? (
            <section class="card">
              <Empty icon="tag" title={t.shop.none} text={t.shop.none_here} />
            </section>
          ) : (
            <ul class="grid" aria-label={t.extras.tabs.shop}>
              {all.map((item) => (
                <li class="card tile still" key={item.id}>
                  <div class="row apart tight">
                    <span class="name cut">{item.name}</span>
                    <span class="tag">{t.shop.rarities[item.rarity]}</span>
                  </div>
                  <p class="soft break">{item.description ?? t.shop.categories[item.category]}</p>
                  <div class="row apart tight last">
                    <span class="number">{item.price_points ? t.points(item.price_points) : t.create.free}</span>
                    {has(item) ? (
                      <span class="badge good">{t.shop.owned}</span>
                    ) : !item.available ? (
                      <span class="badge">{t.shop.gone}</span>
                    ) : (
                      <span class="row tight">
                        <Button
                          slim
                          aria-label={t.shop.give_title(item.name)}
                          onClick={() => ask({ what: 'give', item })}>
                          {t.shop.give}
                        </Button>
                        <Button
                          slim
                          kinds={['main-action']}
                          aria-label={t.shop.buy_title(item.name)}
                          onClick={() => ask({ what: 'buy', item })}>
                          {t.market.buy}
                        </Button>
                      </span>
                    )}
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Read>
      {asking?.what === 'buy' && (
        <Confirm
          title={t.shop.buy_title(asking.item.name)}
          action={t.market.buy}
          onClose={() => ask(null)}
          cost={() => cost_of(asking.item)}
          run={async () => {
            await call('post', '/api/cosmetics/{id}/purchase', { path: { id: asking.item.id } });
            note(t.shop.bought(asking.item.name));
            done();
          }}></Confirm>
      )}
      {asking?.what === 'give' && (
        <FormDialog<{ to: string }>
          title={t.shop.give_title(asking.item.name)}
          action={t.shop.give}
          onClose={() => ask(null)}
          fields={[{ name: 'to', label: t.points_screen.to, errors: ['user_not_found', 'query_too_short'] }]}
          cost={() => cost_of(asking.item)}
          run={async ({ to }) => {
            await call('post', '/api/cosmetics/{id}/gift', {
              path: { id: asking.item.id },
              body: { to_user_id: await id_of_user(to ?? '') },
            });
            note(t.shop.given(asking.item.name, to));
            done();
          }}></FormDialog>
      )}
    </>
  );
}

function Avatar() {
  const avatar = useReading(() => call('get', '/api/avatars/me'), []);
  const mine = useReading(owned, []);
  const name_fields: FieldOf<Body<'put', '/api/avatars/me'>>[] = [
    { name: 'display_name', label: t.extras.display_name, hint: t.extras.display_name_hint },
  ];
  const saved = () => {
    note(t.app.changed);
    avatar.again();
  };
  return (
    <div class="columns even">
      <Card title={t.extras.avatar} bare>
        <Read of={avatar}>
          {(value) => (
            <div class="body">
              <Form
                key={value.avatar.display_name ?? ''}
                changes
                values={value.avatar}
                action={t.app.save}
                fields={name_fields}
                run={async (body) => {
                  await call('put', '/api/avatars/me', { body });
                  saved();
                }}
              />
            </div>
          )}
        </Read>
      </Card>
      <Card title={t.extras.wears} bare>
        <Read of={mine}>
          {(items) =>
            items.length === 0 ? (
              <p class="body soft">{t.extras.no_items}</p>
            ) : (
              <Read of={avatar}>
                {(value) => (
                  <div class="body">
                    <Form<Body<'post', '/api/avatars/me/equip'>>
                      key={value.avatar.equipped_cosmetics.join()}
                      changes
                      values={{ item_ids: value.avatar.equipped_cosmetics }}
                      action={t.app.save}
                      fields={[
                        {
                          name: 'item_ids',
                          label: t.extras.items,
                          kind: 'many',
                          hint: t.extras.items_hint,
                          choices: items.map((one) => [
                            one.cosmetic_item_id,
                            `${one.item.name} (${t.shop.categories[one.item.category]})`,
                          ]),
                        },
                      ]}
                      run={async (body) => {
                        await call('post', '/api/avatars/me/equip', { body });
                        saved();
                      }}
                    />
                  </div>
                )}
              </Read>
            )
          }
        </Read>
      </Card>
    </div>
  );
}

function Learning() {
  const modules = useReading(() => call('get', '/api/learning/modules', { query: { page_size: 100 } }), []);
  const path = useReading(() => call('get', '/api/learning/path'), []);
  return (
    <div class="columns">
      <Card title={t.extras.tabs.learning} bare>
        <Read of={modules}>
          {(value) =>
            value.modules.length === 0 ? (
              <Empty icon="book" title={t.learning.none} text={t.learning.none_here} />
            ) : (
              <Table
                label={t.extras.tabs.learning}
                columns={[
                  t.learning.title,
                  t.learning.progress,
                  { name: t.learning.points, end: true },
                  t.learning.again,
                ]}>
                {value.modules.map((module) => (
                  <tr key={module.module_number}>
                    <td>
                      <strong>{module.title}</strong>
                      <div class="small soft break">{module.description}</div>
                    </td>
                    <td>
                      <span class="number">{t.learning.of(module.completed ?? 0, module.total ?? 0)}</span>
                      <Meter label={module.title} value={module.completed ?? 0} of={module.total ?? 1} />
                    </td>
                    <td class="end number">{number(module.points)}</td>
                    <td class="soft">
                      {module.repeat_eligible_at ? (
                        <Time at={module.repeat_eligible_at} />
                      ) : module.open ? (
                        '–'
                      ) : (
                        t.learning.locked
                      )}
                    </td>
                  </tr>
                ))}
              </Table>
            )
          }
        </Read>
      </Card>
      <Card title={t.learning.path} bare>
        <Read of={path}>
          {(value) => (
            <div class="body">
              <Form<Body<'put', '/api/learning/path'>>
                key={value.learning_path}
                changes
                values={value}
                action={t.app.save}
                fields={[{ name: 'learning_path', label: t.learning.path_name, hint: t.learning.path_hint }]}
                run={async (body) => {
                  await call('put', '/api/learning/path', { body });
                  note(t.app.changed);
                  path.again();
                }}
              />
            </div>
          )}
        </Read>
      </Card>
    </div>
  );
}

const parts = { shop: Shop, avatar: Avatar, learning: Learning };

export function ExtrasScreen({ part }: { part: string }) {
  const Part = parts[part as keyof typeof parts] ?? Shop;
  return (
    <Page title={t.menu.extras} below={<p class="soft">{t.extras.text}</p>}>
      <Tabs
        label={t.menu.extras}
        current={part}
        tabs={(Object.keys(parts) as (keyof typeof parts)[]).map((key) => ({
          key,
          name: t.extras.tabs[key],
          href: key === 'shop' ? '/extras' : `/extras/${key}`,
        }))}
      />
      <Part />
    </Page>
  );
}
