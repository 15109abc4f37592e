// Figures by day: a plot over a window that the reader chooses, and the same as a table.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { day_name, number } from '../format';
import { t } from '../messages';
import { Plot } from './plot';
import { Table, Read } from './table';
import { Card, Choices } from './ui';
import { useReading } from './use';

const windows = [30, 90, 365] as const; // days
const ms_per_day = 86_400_000;

const utc_date = (at: number) => new Date(at).toISOString().slice(0, 10);

// The figures of a day: for the plot, and for the columns of the table.
interface Shown<D> {
  value: (day: D) => number;
  columns: [name: string, of: (day: D) => number][];
}

// `read` gets the first and the last day of the window, as YYYY-MM-DD in UTC.
export function Days<D extends { date: string }>({
  title,
  label,
  read,
  keys,
  shown,
  above,
}: {
  title: string;
  label: (from: string, to: string) => string;
  read: (from: string, to: string) => Promise<D[]>;
  keys: unknown[];
  shown: Shown<D>;
  above?: (days: D[]) => ComponentChildren;
}) {
  const [span, choose] = useState<number>(windows[0]);
  const days = useReading(
    () => read(utc_date(Date.now() - (span - 1) * ms_per_day), utc_date(Date.now())),
    [...keys, span],
  );
  return (
    <Card
      title={title}
      bare
      actions={<Choices<number> label={t.days.window} of={windows} chosen={span} choose={choose} name={t.days.days} />}>
      <Read of={days}>{(value) => <Body days={value} label={label} shown={shown} title={title} above={above} />}</Read>
    </Card>
  );
}

function Body<D extends { date: string }>({
  days,
  label,
  shown,
  title,
  above,
}: {
  days: D[];
  label: (from: string, to: string) => string;
  shown: Shown<D>;
  title: string;
  above: ((days: D[]) => ComponentChildren) | undefined;
}) {
  const [times, values, lines] = useMemo(() => {
    const of_days = days.map(shown.value);
    return [days.map((day) => Date.parse(day.date) / 1_000), of_days, [{ name: title, values: of_days }]] as const;
  }, [days]);
  const moved = days.filter((day) => shown.columns.some(([, of], index) => index > 0 && of(day) !== 0)).reverse();
  return (
    <>
      <div class="body stack">
        {above?.(days)}
        <Plot times={times} lines={lines} label={label(number(values[0] ?? 0), number(values.at(-1) ?? 0))} />
      </div>
      <details class="fold">
        <summary>{t.days.table(moved.length)}</summary>
        <Table label={title} columns={[t.days.day, ...shown.columns.map(([name]) => ({ name, end: true }))]}>
          {moved.map((day) => (
            <tr key={day.date}>
              <td>{day_name(day.date)}</td>
              {shown.columns.map(([name, of]) => (
                <td key={name} class="end number">
                  {number(of(day))}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </details>
    </>
  );
}
