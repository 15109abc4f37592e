// All components in their states, for those who work on the console.
import { useState } from 'preact/hooks';
import { ApiError } from '../api';
import { Confirm, type FieldOf, Form, FormDialog } from '../components/form';
import { Icon, icon_names } from '../components/icons';
import { note } from '../components/notes';
import { Plot } from '../components/plot';
import { Rows } from '../components/rows';
import { Table } from '../components/table';
import {
  Banner,
  Bones,
  Button,
  Card,
  Copy,
  Empty,
  Failed,
  LinkButton,
  Menu,
  Meter,
  Page,
  Tabs,
  Time,
} from '../components/ui';
import { type Kind, type Row } from '../components/values';
import { number } from '../format';
import { t } from '../messages';

const c = t.components;
const choices = [
  ['one', c.one],
  ['two', c.two],
] as const;
// One field of each kind: a kind that is missing here doesn't compile.
const of_kinds: Record<Kind, Row> = {
  text: { label: c.text, hint: c.hint },
  number: { label: c.number },
  choice: { label: c.choice, choices },
  short: { label: c.short, affix: '.example.com' },
  time: { label: c.time },
  day: { label: c.day },
  password: { label: t.account.password, autocomplete: 'off' },
  long: { label: c.long },
  lines: { label: c.lines },
  texts: { label: c.texts },
  cards: {
    label: c.cards,
    choices: choices.map(([value, name]) => [value, name, { aside: t.points(3), lines: [c.hint] }]),
  },
  variables: { label: c.variables },
  claims: { label: t.ci.claims },
  many: { label: c.many, choices },
  picture: { label: t.creatives.image },
  check: { label: c.check, hint: c.hint },
};
type Sample = Record<Kind, unknown>;
const fields = Object.entries(of_kinds).map(([kind, row]) => ({ name: kind, kind, ...row })) as FieldOf<Sample>[];
const day = 86_400; // s
const days = 30;
const times = Array.from({ length: days }, (_, index) => 1_767_225_600 + index * day);
const values = times.map((_, index) => Math.round(500 + 300 * Math.sin(index / 3) + 20 * index));
const lines = [{ name: c.plot, values }];
const limit = 1_500;
const marks = [times[10]!];
const rows = Array.from({ length: 40 }, (_, index) => index + 1);
const refused = new ApiError(422, 'validation_failed', c.refused, { text: [c.wrong] });

export function ComponentsScreen() {
  const [asking, ask] = useState<'dialog' | 'form' | null>(null);
  const none = () => {};
  return (
    <Page
      title={c.heading}
      crumbs={[[t.menu.deployments, '/']]}
      badge={<span class="badge good">{c.badge}</span>}
      below={<p class="soft">{c.about}</p>}
      actions={
        <Button kinds={['main-action']} onClick={() => note(c.noted)}>
          {c.note}
        </Button>
      }>
      <Tabs
        label={c.tabs}
        current="one"
        tabs={[
          { key: 'one', name: c.one, href: '/components' },
          { key: 'two', name: c.two, href: '/components/two' },
        ]}
      />
      <Card title={c.buttons}>
        <div class="row">
          <Button kinds={['main-action']}>{c.main}</Button>
          <Button>{c.other}</Button>
          <Button kinds={['danger']}>{c.danger}</Button>
          <Button kinds={['danger', 'main-action']}>{c.final}</Button>
          <Button kinds={['plain']}>{c.plain}</Button>
          <Button icon="plus">{c.with_icon}</Button>
          <Button icon="edit" label={c.icon_only} />
          <Button slim>{c.slim}</Button>
          <Button busy>{c.busy}</Button>
          <Button disabled>{c.disabled}</Button>
          <LinkButton href="/components">{c.link}</LinkButton>
          <Menu
            label={c.menu}
            items={[
              { name: c.one, icon: 'edit', run: none },
              { name: c.danger, icon: 'trash', danger: true, run: none },
            ]}
          />
        </div>
      </Card>
      <Card title={c.badges}>
        <div class="row">
          {(['', 'good', 'warn', 'bad', 'busy'] as const).map((kind) => (
            <span key={kind} class={`badge ${kind}`}>
              {kind || c.still}
            </span>
          ))}
          <span class="tag">{c.tag}</span>
          <Time at="2026-01-31T12:00:00Z" />
          <Copy text="01936f5e-7c1a-7000" label={c.copied} />
        </div>
      </Card>
      <Card title={c.banners}>
        <div class="stack">
          {(['info', 'warn', 'bad'] as const).map((kind) => (
            <Banner key={kind} kind={kind} title={c.banner}>
              <p>{c.hint}</p>
            </Banner>
          ))}
          <Failed error={refused} again={none} />
        </div>
      </Card>
      <div class="columns even">
        <Card title={c.form}>
          <Form<Sample>
            fields={fields}
            values={{ choice: 'one', many: ['one'], check: true }}
            action={c.send}
            run={async () => {
              throw refused;
            }}
          />
        </Card>
        <div class="stack wide">
          <Card title={c.figures}>
            <div class="stack wide">
              <div class="figures">
                <div class="figure">
                  <span class="small faint">{c.text}</span>
                  <span class="value">
                    {number(12_345)} <small>{t.points_screen.unit}</small>
                  </span>
                  <Meter label={c.meter} value={30} of={100} />
                </div>
                <div class="figure">
                  <span class="small faint">{c.number}</span>
                  <span class="value">
                    {number(95)} <small>%</small>
                  </span>
                  <Meter label={c.meter} value={95} of={100} warn />
                </div>
              </div>
              <Plot times={times} lines={lines} limit={limit} marks={marks} label={c.plot} />
            </div>
          </Card>
          <Card title={c.facts}>
            <dl class="facts">
              <dt>{c.one}</dt>
              <dd>{c.hint}</dd>
              <dt>{c.two}</dt>
              <dd>{c.hint}</dd>
            </dl>
          </Card>
          <Card title={c.dialogs}>
            <div class="row">
              <Button onClick={() => ask('dialog')}>{c.confirm}</Button>
              <Button onClick={() => ask('form')}>{c.form}</Button>
            </div>
          </Card>
          <Card title={c.waiting}>
            <Bones />
          </Card>
        </div>
      </div>
      <Card title={c.icons}>
        <div class="row">
          {icon_names.map((name) => (
            <span class="sample" key={name}>
              <Icon name={name} size={24} />
              <code class="small faint">{name}</code>
            </span>
          ))}
        </div>
      </Card>
      <Card title={c.table} bare>
        <Table label={c.table} columns={[c.one, c.two, { name: c.number, end: true }]}>
          {[1, 2, 3].map((n) => (
            <tr key={n}>
              <td>{c.text}</td>
              <td class="soft">{c.hint}</td>
              <td class="end number">{number(n * 1_000)}</td>
            </tr>
          ))}
        </Table>
      </Card>
      <section class="card">
        <Empty icon="search" title={c.empty} text={c.hint}>
          <Button kinds={['main-action']}>{c.main}</Button>
        </Empty>
      </section>
      <Rows
        label={c.rows}
        items={rows}
        columns={[{ key: 'row', name: c.rows }]}
        row={(n) => <span role="cell">{c.row(number(n))}</span>}
      />
      {asking === 'dialog' && (
        <Confirm title={c.confirm} action={c.danger} danger word="berth" onClose={() => ask(null)} run={async () => {}}>
          <p>{c.hint}</p>
        </Confirm>
      )}
      {asking === 'form' && (
        <FormDialog<Sample>
          title={c.form}
          fields={fields.slice(0, 4)}
          action={c.send}
          onClose={() => ask(null)}
          run={async () => {
            throw refused;
          }}
        />
      )}
    </Page>
  );
}
