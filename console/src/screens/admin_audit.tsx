// For admins: who did what, when and from where, and all of that as a file.
import { useState } from 'preact/hooks';
import { useSearch } from 'wouter-preact';
import { call } from '../api';
import { Confirm, type FieldOf, Filter } from '../components/form';
import { note } from '../components/notes';
import { Pages, Read, Table } from '../components/table';
import { Button, Card, Empty, Time } from '../components/ui';
import { useReading } from '../components/use';
import { t } from '../messages';
import { may } from '../session';
import { Actor, page_size, Target } from './admin_parts';
import { useSaving, with_days } from './audit';

type Filtered = Record<'actor' | 'action' | 'target' | 'network' | 'from' | 'to', string>;
const fields: FieldOf<Filtered>[] = [
  { name: 'actor', label: t.admin.actor, placeholder: t.admin.actor_hint },
  { name: 'action', label: t.admin.action, placeholder: t.admin.action_hint },
  { name: 'target', label: t.admin.target },
  { name: 'network', label: t.audit.network },
  { name: 'from', label: t.points_screen.from, kind: 'day' },
  { name: 'to', label: t.points_screen.until, kind: 'day' },
];

export function Audit() {
  const asked = Object.fromEntries(new URLSearchParams(useSearch())) as Partial<Filtered>;
  const [filter, set] = useState<Partial<Filtered>>(asked);
  const [page, turn] = useState(1);
  const [asking, ask] = useState(false);
  const [exporting, save] = useSaving('/api/internal/audit');
  const list = useReading(
    () => call('get', '/api/internal/audit', { query: { ...with_days(filter), page, page_size } }),
    [filter, page],
  );
  return (
    <Card
      title={t.admin.tabs.audit}
      bare
      actions={
        <div class="row tight">
          <Button slim icon="download" busy={exporting} onClick={() => void save(with_days(filter))}>
            {exporting ? t.admin.exporting : t.admin.export}
          </Button>
          {may() && (
            <Button slim icon="key" onClick={() => ask(true)}>
              {t.admin.rotate_key}
            </Button>
          )}
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
      <Filter
        fields={fields}
        values={asked}
        action={t.admin.find_in_audit}
        onFilter={(now) => {
          set(now);
          turn(1);
        }}
      />
      <Read of={list}>
        {(value) =>
          value.entries.length === 0 ? (
            <Empty
              icon="book"
              title={Object.keys(filter).length === 0 ? t.admin.nothing : t.points_screen.none_found}
              text={t.admin.nothing_text}
            />
          ) : (
            <>
              <Table
                label={t.admin.tabs.audit}
                columns={[t.points_screen.when, t.admin.actor, t.admin.action, t.admin.target, t.audit.network]}>
                {value.entries.map((entry) => (
                  <tr key={entry.id}>
                    <td class="soft">
                      <Time at={entry.inserted_at} />
                    </td>
                    <td>
                      <Actor actor={entry.actor} name={entry.actor_name} />
                    </td>
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
                      <Target action={entry.action} target={entry.target} />
                    </td>
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
