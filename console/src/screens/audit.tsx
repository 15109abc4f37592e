// The audit log: what one has done oneself, and what was done to an app. Admins have a screen of their own
// (admin_audit.tsx).
import { useState } from 'preact/hooks';
import { type Answer, call, fill, send } from '../api';
import { headersFor } from '../begun';
import { type FieldOf, Filter } from '../components/form';
import { note } from '../components/notes';
import { Pages, Read, Table } from '../components/table';
import { Button, Card, Empty, Time } from '../components/ui';
import { useReading } from '../components/use';
import type { App } from '../data';
import { save_file } from '../files';
import { t } from '../messages';

type Log = Answer<'get', '/api/auth/audit'>;
type Filtered = Record<'action' | 'from' | 'to', string>;
const rows = 20;

const fields: FieldOf<Filtered>[] = [
  { name: 'action', label: t.admin.action },
  { name: 'from', label: t.points_screen.from, kind: 'day' },
  { name: 'to', label: t.points_screen.until, kind: 'day' },
];

// The days are the reader's, from the first moment of one to the last of the other.
export function with_days<Words extends object>({ from, to, ...words }: Words & { from?: string; to?: string }) {
  const after = to ? new Date(`${to}T00:00`) : null;
  after?.setDate(after.getDate() + 1);
  return {
    ...words,
    ...(from ? { from: new Date(`${from}T00:00`).toISOString() } : {}),
    ...(after ? { to: after.toISOString() } : {}),
  };
}

// Saves all entries that match, as the server writes them.
export function useSaving(path: string) {
  const [saving, work] = useState(false);
  async function save(query: object) {
    work(true);
    try {
      const response = await send('GET', fill(path, {}, { ...query, format: 'csv' }), { headers: headersFor() });
      save_file('audit.csv', 'text/csv', await response.blob());
    } catch (failure) {
      note((failure as Error).message);
    } finally {
      work(false);
    }
  }
  return [saving, save] as const;
}

function Who({ entry }: { entry: Log['entries'][number] }) {
  if (entry.actor === 'platform') return <>{t.audit.platform}</>;
  return <span class="break">{entry.actor_name ?? entry.actor}</span>;
}

function Entries({ title, app }: { title: string; app?: App }) {
  const [filter, set] = useState<Partial<Filtered>>({});
  const [page, turn] = useState(1);
  const path = app ? `/api/oauth/my-apps/${app.id}/audit` : '/api/auth/audit';
  const [saving, save] = useSaving(path);
  const query = { ...with_days(filter), page, page_size: rows };
  const list = useReading(
    () =>
      app
        ? call('get', '/api/oauth/my-apps/{app_id}/audit', { path: { app_id: app.id }, query })
        : call('get', '/api/auth/audit', { query }),
    [app?.id, filter, page],
  );
  return (
    <Card
      title={title}
      bare
      actions={
        <Button slim icon="download" busy={saving} onClick={() => void save(with_days(filter))}>
          {saving ? t.admin.exporting : t.admin.export}
        </Button>
      }>
      <Filter
        fields={fields}
        onFilter={(now) => {
          set(now);
          turn(1);
        }}
      />
      <Read of={list}>
        {(value) =>
          value.entries.length === 0 ? (
            <Empty icon="book" title={t.points_screen.none_found} text={t.audit.none} />
          ) : (
            <>
              <Table
                label={title}
                columns={[
                  t.points_screen.when,
                  ...(app ? [t.admin.actor] : []),
                  t.admin.action,
                  t.admin.target,
                  t.audit.network,
                ]}>
                {value.entries.map((entry) => (
                  <tr key={entry.id}>
                    <td class="soft">
                      <Time at={entry.inserted_at} />
                    </td>
                    {app && (
                      <td>
                        <Who entry={entry} />
                      </td>
                    )}
                    <td>{t.audit_action(entry.action)}</td>
                    <td class="break small mono">{entry.target}</td>
                    <td class="small faint mono">{entry.network}</td>
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

export const OwnAudit = () => <Entries title={t.audit.own} />;
export const AppAudit = ({ app }: { app: App }) => <Entries title={t.audit.of_app} app={app} />;
