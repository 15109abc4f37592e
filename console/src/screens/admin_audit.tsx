// For admins: what admins did, by whom and when, and all of that as a file.
import { useState } from 'preact/hooks';
import { type Answer, call, every } from '../api';
import { note } from '../components/notes';
import { Pages, Read, Table } from '../components/table';
import { Button, Card, Confirm, Copy, Empty, Field, Time } from '../components/ui';
import { useReading } from '../components/use';
import { save_file } from '../files';
import { t } from '../messages';
import { me } from '../session';

type Entry = Answer<'get', '/api/internal/audit'>['entries'][number];
const page_size = 50;
const no_filter = { actor: '', action: '', target: '', from: '', to: '' };
type Filter = typeof no_filter;

// The days are the reader's, from the first moment of one to the last of the other.
function query_of({ from, to, ...words }: Filter) {
  const given = Object.fromEntries(
    Object.entries(words)
      .map(([name, text]) => [name, text.trim()])
      .filter(([, text]) => text),
  ) as Partial<Omit<Filter, 'from' | 'to'>>;
  const after = to ? new Date(`${to}T00:00`) : null;
  after?.setDate(after.getDate() + 1);
  return {
    ...given,
    ...(from ? { from: new Date(`${from}T00:00`).toISOString() } : {}),
    ...(after ? { to: after.toISOString() } : {}),
  };
}

// A field as RFC 4180 writes it. A text that a spreadsheet would take for a formula gets an apostrophe.
const csv_field = (text: string) => `"${text.replace(/^[=+\-@\t\r]/, "'$&").replace(/"/g, '""')}"`;
const csv_of = (entries: Entry[]) =>
  [
    ['inserted_at', 'actor', 'action', 'target', 'details'],
    ...entries.map((entry) => [
      entry.inserted_at,
      entry.actor,
      entry.action,
      entry.target,
      JSON.stringify(entry.details),
    ]),
  ]
    .map((row) => `${row.map(csv_field).join(',')}\r\n`)
    .join('');

export function Audit() {
  const [filter, set] = useState<Filter>(no_filter);
  const [page, turn] = useState(1);
  const [asking, ask] = useState(false);
  const [exporting, work] = useState(false);
  const [typed, type] = useState<Filter>(no_filter);
  const list = useReading(
    () => call('get', '/api/internal/audit', { query: { ...query_of(filter), page, page_size } }),
    [filter, page],
  );
  async function save() {
    work(true);
    try {
      const pages = await every((at) => call('get', '/api/internal/audit', { query: { ...query_of(filter), ...at } }));
      save_file('audit.csv', 'text/csv', csv_of(pages.flatMap((one) => one.entries)));
    } catch (failure) {
      note((failure as Error).message);
    }
    work(false);
  }
  const text = (name: keyof Filter, label: string, hint?: string) => (
    <Field label={label}>
      {(field) => (
        <input
          {...field}
          type={name === 'from' || name === 'to' ? 'date' : 'text'}
          autocomplete="off"
          spellcheck={false}
          placeholder={hint}
          value={typed[name]}
          onInput={(e) => type({ ...typed, [name]: e.currentTarget.value })}
        />
      )}
    </Field>
  );
  return (
    <Card
      title={t.admin.tabs.audit}
      bare
      actions={
        <div class="row tight">
          <Button slim icon="download" busy={exporting} onClick={save}>
            {exporting ? t.admin.exporting : t.admin.export}
          </Button>
          <Button slim icon="key" onClick={() => ask(true)}>
            {t.admin.rotate_key}
          </Button>
        </div>
      }>
      {asking && (
        <Confirm
          title={t.admin.rotate_key_title}
          action={t.admin.rotate_key}
          onClose={() => ask(false)}
          run={async () => {
            await call('post', '/api/internal/session-keys/rotate');
            note(t.admin.key_rotated);
            list.again();
          }}>
          <p>{t.admin.rotate_key_text}</p>
        </Confirm>
      )}
      <form
        class="body filters"
        role="search"
        onSubmit={(e) => {
          e.preventDefault();
          set(typed);
          turn(1);
        }}>
        {text('actor', t.admin.actor, t.admin.actor_hint)}
        {text('action', t.admin.action, t.admin.action_hint)}
        {text('target', t.admin.target)}
        {text('from', t.points_screen.from)}
        {text('to', t.points_screen.until)}
        <div class="field end">
          <Button type="submit" icon="search">
            {t.admin.find_in_audit}
          </Button>
        </div>
      </form>
      <Read of={list}>
        {(value) =>
          value.entries.length === 0 ? (
            <Empty
              icon="book"
              title={filter === no_filter ? t.admin.nothing : t.points_screen.none_found}
              text={t.admin.nothing_text}
            />
          ) : (
            <>
              <Table
                label={t.admin.tabs.audit}
                columns={[t.points_screen.when, t.admin.actor, t.admin.action, t.admin.target]}>
                {value.entries.map((entry) => (
                  <tr key={entry.id}>
                    <td class="soft">
                      <Time at={entry.inserted_at} />
                    </td>
                    <td class="break">{entry.actor === `user:${me.value!.id}` ? t.history.you : entry.actor}</td>
                    <td>
                      {t.audit_action(entry.action)}
                      {Object.keys(entry.details).length > 0 && (
                        <details class="small soft">
                          <summary>{t.app.details}</summary>
                          <dl>
                            {Object.entries(entry.details).map(([name, value]) => (
                              <div class="break" key={name}>
                                <dt>{t.reason_word(name)}</dt>:{' '}
                                <dd>{typeof value === 'object' ? JSON.stringify(value) : String(value)}</dd>
                              </div>
                            ))}
                          </dl>
                        </details>
                      )}
                    </td>
                    <td>
                      <Copy text={entry.target} label={t.admin.target} />
                    </td>
                  </tr>
                ))}
              </Table>
              <Pages of={value} turn={turn} />
            </>
          )
        }
      </Read>
    </Card>
  );
}
