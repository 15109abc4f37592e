// The statement of the account, or of an app: all movements on some days, to be read, printed and saved.
import { useState } from 'preact/hooks';
import { type Answer, ApiError, fill, send } from '../api';
import { headersFor } from '../begun';
import { type FieldOf, Filter } from '../components/form';
import { note } from '../components/notes';
import { SaveReceipt } from '../components/receipt';
import { Read, Table } from '../components/table';
import { Button, Card, Empty, Page, Time } from '../components/ui';
import { useReading } from '../components/use';
import { save_file } from '../files';
import { number, signed } from '../format';
import { t } from '../messages';

const most_lines = 5_000; // that are shown; files have all of them
const days_at_first = 30;
const ms_per_day = 86_400_000;

type Statement = Answer<'get', '/api/points/statement'>;
type Line = Statement['entries'][number];
type Format = 'csv' | 'jsonl';
// The lines of the form jsonl.
type Part =
  | ({ type: 'opening' } & Pick<Statement, 'opening_balance' | 'is_final'>)
  | ({ type: 'entry' } & Line)
  | ({ type: 'closing' } & Pick<Statement, 'closing_balance' | 'credited' | 'debited' | 'count'>);

interface Shown {
  opening: Extract<Part, { type: 'opening' }> | null;
  entries: Line[];
  closing: Extract<Part, { type: 'closing' }> | null; // null: there are more lines than are shown
}

interface Window {
  from: string;
  to: string;
}

const utc_date = (at: number) => new Date(at).toISOString().slice(0, 10);

// `app` is the id of an app whose statement it is; without it, it is that of the account.
const ask = (app: string | undefined, window: Partial<Window>, format: Format) =>
  send('GET', fill(app ? '/api/operator/statement' : '/api/points/statement', {}, { ...window, format }), {
    headers: headersFor(app),
  });

// Reads at most `most_lines`, however long the statement is.
async function read(app: string | undefined, window: Partial<Window>): Promise<Shown> {
  const shown: Shown = { opening: null, entries: [], closing: null };
  const reader = (await ask(app, window, 'jsonl')).body!.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  while (shown.entries.length < most_lines) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      const part = JSON.parse(line) as Part;
      if (part.type === 'opening') shown.opening = part;
      else if (part.type === 'entry') shown.entries.push(part);
      else shown.closing = part;
    }
  }
  if (shown.closing) return shown;
  await reader.cancel();
  if (shown.entries.length < most_lines) throw new ApiError(0, 'unreachable', t.errors.unreachable);
  return { ...shown, entries: shown.entries.slice(0, most_lines) };
}

export function StatementScreen({ app }: { app?: string | undefined }) {
  const [window_of, set_window] = useState<Partial<Window>>(() => ({
    from: utc_date(Date.now() - (days_at_first - 1) * ms_per_day),
    to: utc_date(Date.now()),
  }));
  const [busy, set_busy] = useState(false);
  const statement = useReading(() => read(app, window_of), [app, window_of]);
  const fields: FieldOf<Window>[] = [
    { name: 'from', label: t.points_screen.from, kind: 'day' },
    { name: 'to', label: t.points_screen.until, kind: 'day' },
  ];
  async function save(format: Format) {
    set_busy(true);
    try {
      const response = await ask(app, window_of, format);
      save_file(`statement.${format}`, response.headers.get('Content-Type') ?? 'text/plain', await response.blob());
    } catch (failure) {
      note((failure as Error).message);
    } finally {
      set_busy(false);
    }
  }
  return (
    <Page
      title={t.statement.title}
      crumbs={app ? [[t.menu.apps, '/apps']] : [[t.menu.points, '/points']]}
      actions={
        <div class="row tight unprinted">
          <Button icon="download" busy={busy} onClick={() => void save('csv')}>
            {t.statement.csv}
          </Button>
          <Button icon="download" busy={busy} onClick={() => void save('jsonl')}>
            {t.statement.json_lines}
          </Button>
          <Button onClick={() => print()}>{t.statement.print}</Button>
        </div>
      }>
      <Card title={t.statement.days(window_of.from ?? '', window_of.to ?? '')} bare>
        <div class="unprinted">
          <Filter fields={fields} values={window_of} onFilter={set_window} />
        </div>
        <Read of={statement}>{(value) => <Lines of={value} />}</Read>
      </Card>
    </Page>
  );
}

function Lines({ of: { opening, entries, closing } }: { of: Shown }) {
  return (
    <>
      <div class="body">
        <dl class="facts">
          <dt>{t.statement.opening}</dt>
          <dd class="number">{t.points(opening?.opening_balance ?? 0)}</dd>
          {closing && (
            <>
              <dt>{t.points_screen.in}</dt>
              <dd class="number">{t.points(closing.credited)}</dd>
              <dt>{t.points_screen.out}</dt>
              <dd class="number">{t.points(closing.debited)}</dd>
              <dt>{t.statement.closing}</dt>
              <dd class="number">{t.points(closing.closing_balance)}</dd>
            </>
          )}
        </dl>
        {opening && !opening.is_final && <p class="small faint">{t.statement.not_final}</p>}
        {!closing && <p role="status">{t.statement.cut(number(most_lines))}</p>}
      </div>
      {entries.length === 0 ? (
        <Empty icon="points" title={t.points_screen.none_found} text={t.points_screen.none_found_text} />
      ) : (
        <Table
          label={t.statement.title}
          columns={[
            t.points_screen.when,
            t.points_screen.what,
            t.points_screen.with,
            { name: t.points_screen.unit, end: true },
            { name: t.points_screen.balance, end: true },
            { name: t.statement.receipt, unseen: true },
          ]}>
          {entries.map((entry) => (
            <tr key={entry.id + entry.amount}>
              <td class="soft">
                <Time at={entry.inserted_at} />
              </td>
              <td>
                {t.kind(entry.kind)}
                {entry.description && <div class="small faint break">{entry.description}</div>}
              </td>
              <td class="soft">{entry.counterparty.name ?? t.kind(entry.counterparty.kind)}</td>
              <td class={`end number ${entry.amount > 0 ? 'plus' : ''}`}>{signed(entry.amount)}</td>
              <td class="end number">{number(entry.balance)}</td>
              <td class="end unprinted">
                <SaveReceipt of={entry.id} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
