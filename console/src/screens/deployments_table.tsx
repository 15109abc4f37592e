// All deployments of the account in a table: sorted, filtered, labelled, and several done at once.
import { signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ApiError, call } from '../api';
import { Select, Tick, Words } from '../components/fields';
import { Confirm, FormDialog } from '../components/form';
import { note } from '../components/notes';
import { type RowColumn, Rows, type Sorting } from '../components/rows';
import { explain, StatusBadge } from '../components/status';
import { Button, Time } from '../components/ui';
import { app_of, change, complete, type Deployment, forget, listed, may_change, put, tier_name } from '../data';
import { t } from '../messages';
import { short_image } from './rollouts';

type Key = 'chosen' | 'name' | 'state' | 'app' | 'image' | 'tier' | 'labels' | 'when';
const columns: RowColumn<Key>[] = [
  { key: 'chosen', name: t.table.chosen, unseen: true },
  { key: 'name', name: t.app.name, sorts: true },
  { key: 'state', name: t.webhooks.state, sorts: true },
  { key: 'app', name: t.app.one, sorts: true },
  { key: 'image', name: t.create.image, sorts: true },
  { key: 'tier', name: t.deployment.tier, sorts: true },
  { key: 'labels', name: t.table.labels },
  { key: 'when', name: t.overview.deployed, sorts: true },
];

const when = (one: Deployment) => one.deployed_at ?? one.inserted_at;
export const label_texts = (one: Deployment) =>
  Object.entries(one.labels ?? {}).map(([key, value]) => `${key}=${value}`);
// Those that need somebody come first when the table is sorted by state.
const urgency: Deployment['status'][] = ['errored', 'deploying', 'pending', 'stopped', 'running', 'destroyed'];

const sort_texts: Record<Exclude<Key, 'chosen' | 'labels'>, (one: Deployment) => string> = {
  name: (one) => one.name ?? one.subdomain,
  state: (one) => `${one.reason ? 0 : 1}${urgency.indexOf(one.status)}`,
  app: (one) => app_of(one.app_id)?.app_name ?? '',
  image: (one) => one.container_image,
  tier: (one) => tier_name(one.tier),
  when,
};

// What is filtered and how it is sorted stays while other screens are looked at.
const view = signal({ words: '', status: '', app: '', label: '', sorting: { by: 'when', down: true } as Sorting<Key> });
const set = (part: Partial<typeof view.value>) => (view.value = { ...view.value, ...part });

function fitting(all: Deployment[]): Deployment[] {
  const { words, status, app, label, sorting } = view.value;
  const needle = words.trim().toLowerCase();
  const found = all.filter(
    (one) =>
      (!needle ||
        `${one.name} ${one.container_image} ${t.status[one.status]} ${app_of(one.app_id)?.app_name} ${one.custom_domain ?? ''} ${label_texts(one).join(' ')}`
          .toLowerCase()
          .includes(needle)) &&
      (!status || one.status === status) &&
      (!app || one.app_id === app) &&
      (!label || label_texts(one).includes(label)),
  );
  const text = sort_texts[sorting.by as keyof typeof sort_texts];
  const sign = sorting.down ? -1 : 1;
  return found.sort((a, b) => sign * text(a).localeCompare(text(b)) || (a.id < b.id ? 1 : -1));
}

// Does something with one after the other; a limit on requests makes it wait. Returns how many were done, and says of
// those that weren't why.
async function for_each(all: Deployment[], work: (one: Deployment) => Promise<unknown>, told: (done: number) => void) {
  let done = 0;
  for (const one of all)
    for (;;) {
      try {
        await work(one);
        told(++done);
        break;
      } catch (failure) {
        const error = failure as ApiError;
        if (error.status === 429 && error.retryAfter > 0) {
          await new Promise((resolve) => setTimeout(resolve, error.retryAfter * 1_000));
          continue;
        }
        note(`${one.name}: ${error.message}`);
        break;
      }
    }
  return done;
}

// Any change charges a period that isn't paid, and only those who stop their deployments have such periods. So what is
// done to several at once leaves them out: their own pages show the sum first.
const costs_nothing = (one: Deployment) =>
  one.billing_status === 'exempt' || (one.status !== 'stopped' && one.billing_status !== 'suspended');

const at = (one: Deployment) => ({ path: { id: one.id }, app: one.app_id });
export const parse_labels = (lines: string[]) =>
  Object.fromEntries(lines.map((line) => [line.split('=')[0]!, line.slice(line.indexOf('=') + 1)]));

type Act = 'restart' | 'stop' | 'labels' | 'delete';

function Bulk({ chosen, clear }: { chosen: Deployment[]; clear: () => void }) {
  const [act, ask] = useState<Act | null>(null);
  const [done, tell] = useState(0);
  const able = chosen.filter(may_change);
  const free = able.filter(costs_nothing);
  const meant =
    act === 'restart'
      ? free.filter((one) => one.status !== 'stopped')
      : act === 'stop'
        ? able.filter((one) => one.status !== 'stopped')
        : act === 'labels'
          ? free
          : able;
  const run = async (work: (one: Deployment) => Promise<unknown>) => {
    tell(0);
    note(t.table.done(await for_each(meant, work, tell)));
    clear();
  };
  const works: Record<Exclude<Act, 'labels'>, (one: Deployment) => Promise<unknown>> = {
    restart: async (one) => put((await call('post', '/api/deploy/apps/{id}/restart', at(one))).deployment),
    stop: async (one) => put((await call('post', '/api/deploy/apps/{id}/stop', at(one))).deployment),
    delete: async (one) => {
      await call('delete', '/api/deploy/apps/{id}', at(one));
      forget(one.id);
    },
  };
  const said = (
    <>
      <p class="break">{meant.map((one) => one.name).join(', ') || t.table.none_meant}</p>
      {meant.length < chosen.length && <p class="small faint">{t.table.left_out(chosen.length - meant.length)}</p>}
      {done > 0 && <p role="status">{t.table.progress(done, meant.length)}</p>}
    </>
  );
  return (
    <div class="bulk row apart" role="group" aria-label={t.table.bulk}>
      <span>{t.table.count(chosen.length)}</span>
      <span class="row tight">
        <Button slim icon="restart" onClick={() => ask('restart')}>
          {t.deployment.restart}
        </Button>
        <Button slim icon="stop" onClick={() => ask('stop')}>
          {t.deployment.stop}
        </Button>
        <Button slim icon="tag" onClick={() => ask('labels')}>
          {t.table.labels}
        </Button>
        <Button slim kinds={['danger']} icon="trash" onClick={() => ask('delete')}>
          {t.deployment.delete}
        </Button>
        <Button slim kinds={['plain']} icon="close" label={t.table.clear} onClick={clear} />
      </span>
      {act && act !== 'labels' && (
        <Confirm
          title={t.table.titles[act](meant.length)}
          action={t.deployment[act]}
          danger={act !== 'restart'}
          {...(act === 'delete' ? { word: String(meant.length) } : {})}
          onClose={() => ask(null)}
          run={() => run(works[act])}>
          {said}
          <p class="soft">{t.deployment[`${act}_text`]}</p>
        </Confirm>
      )}
      {act === 'labels' && (
        <FormDialog<{ add: string[]; remove: string[] }>
          title={t.table.titles.labels(meant.length)}
          action={t.app.save}
          onClose={() => ask(null)}
          fields={[
            {
              name: 'add',
              label: t.table.add_labels,
              kind: 'lines',
              hint: t.table.labels_hint,
              placeholder: 'stage=test',
            },
            { name: 'remove', label: t.table.remove_labels, kind: 'lines', hint: t.table.remove_hint },
          ]}
          run={({ add, remove }) =>
            run(async (one) => {
              // A change of labels makes no event, so this page's may be old.
              const { deployment } = await call('get', '/api/deploy/apps/{id}', at(one));
              const kept = Object.entries(deployment.labels ?? {}).filter(([key]) => !(remove ?? []).includes(key));
              return change(one, { labels: { ...Object.fromEntries(kept), ...parse_labels(add ?? []) } });
            })
          }>
          {said}
        </FormDialog>
      )}
    </div>
  );
}

export function DeploymentsTable() {
  const [ids, choose] = useState<ReadonlySet<string>>(new Set());
  const all = listed.value;
  const { words, status, app, label, sorting } = view.value;
  const found = useMemo(() => fitting(all), [all, view.value]);
  const chosen = all.filter((one) => ids.has(one.id));
  const of_apps = [...new Set(all.map((one) => one.app_id))];
  const labels = [...new Set(all.flatMap(label_texts))].sort();
  const statuses = [...new Set(all.map((one) => one.status))];
  const tick = (id: string, yes: boolean) => {
    const next = new Set(ids);
    if (yes) next.add(id);
    else next.delete(id);
    choose(next);
  };
  const everything = found.length > 0 && found.every((one) => ids.has(one.id));
  return (
    <>
      <div class="row tight" role="search">
        <Words class="input search" label={t.overview.search} value={words} onWords={(now) => set({ words: now })} />
        <Select
          class="input narrow-select"
          aria-label={t.webhooks.state}
          value={status}
          onChoose={(now) => set({ status: now })}
          choices={[['', t.table.any_state], ...statuses.map((one) => [one, t.status[one]] as const)]}
        />
        {of_apps.length > 1 && (
          <Select
            class="input narrow-select"
            aria-label={t.app.one}
            value={app}
            onChoose={(now) => set({ app: now })}
            choices={[['', t.table.any_app], ...of_apps.map((id) => [id, app_of(id)?.app_name ?? id] as const)]}
          />
        )}
        {labels.length > 0 && (
          <Select
            class="input narrow-select"
            aria-label={t.table.labels}
            value={label}
            onChoose={(now) => set({ label: now })}
            choices={[['', t.table.any_label], ...labels.map((one) => [one, one] as const)]}
          />
        )}
        <Tick
          label={t.table.choose_all}
          value={everything}
          onTick={(yes) => choose(new Set(yes ? found.map((one) => one.id) : []))}
          shown
        />
      </div>
      {chosen.length > 0 && <Bulk chosen={chosen} clear={() => choose(new Set())} />}
      {found.length === 0 ? (
        <p class="soft">{complete.value ? t.overview.none_found : t.frame.loading}</p>
      ) : (
        <Rows
          label={t.overview.heading}
          kind="deployments"
          items={found}
          columns={columns}
          sorting={sorting}
          onSort={(by) => set({ sorting: { by, down: sorting.by === by && !sorting.down } })}
          row={(one) => {
            const why = explain(one);
            return (
              <>
                <span role="cell" class="of-chosen">
                  <Tick
                    label={t.table.choose(one.name ?? '')}
                    value={ids.has(one.id)}
                    onTick={(yes) => tick(one.id, yes)}
                  />
                </span>
                <span role="cell" class="of-name">
                  <Link href={`/deployments/${one.id}`}>{one.name}</Link>
                  <span class="small faint cut" title={one.url}>
                    {one.url?.replace(/^https?:\/\//, '').replace(/\/$/, '')}
                  </span>
                </span>
                <span role="cell" class="of-state">
                  <StatusBadge deployment={one} />
                  {why && (
                    <span class="small soft cut" title={why.title}>
                      {why.title}
                    </span>
                  )}
                </span>
                <span role="cell" class="of-app cut">
                  <Link href={`/apps/${one.app_id}`}>{app_of(one.app_id)?.app_name}</Link>
                </span>
                <span role="cell" class="of-image cut mono small" title={one.container_image}>
                  {short_image(one.container_image)}
                </span>
                <span role="cell" class="of-tier cut">
                  {tier_name(one.tier)}
                </span>
                <span role="cell" class="of-labels">
                  {label_texts(one).map((text) => (
                    <button
                      key={text}
                      type="button"
                      class="tag"
                      title={t.table.only(text)}
                      onClick={() => set({ label: text })}>
                      {text}
                    </button>
                  ))}
                </span>
                <span role="cell" class="of-when small faint">
                  <Time at={when(one)} />
                </span>
              </>
            );
          }}
        />
      )}
    </>
  );
}
