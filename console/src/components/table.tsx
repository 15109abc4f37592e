// Tables, the pages of long ones, and what is shown in their place while they are loaded.
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api';
import { number, time_of_day } from '../format';
import { t } from '../messages';
import { Bones, Button, Failed } from './ui';

// A column's name; `end` sets it to the right, as numbers are.
export type Column = string | { name: string; end?: boolean; unseen?: boolean };

export function Table({ label, columns, children }: { label: string; columns: Column[]; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t.frame.table(label)}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => {
              const { name, end, unseen } =
                typeof column === 'string' ? { name: column, end: false, unseen: false } : column;
              return (
                <th scope="col" key={name} class={end ? 'end' : undefined}>
                  {unseen ? <span class="unseen">{name}</span> : name}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

interface Paged {
  page: number;
  page_size: number;
  total: number;
  total_is_at_least: boolean;
  next_page: number | null;
}

export function Pages({ of, turn }: { of: Paged; turn: (page: number) => void }) {
  if (of.page === 1 && !of.next_page) return null;
  const last = Math.ceil(of.total / of.page_size);
  return (
    <nav class="body row apart" aria-label={t.frame.pages}>
      <span class="small faint">
        {of.total_is_at_least ? t.frame.page(of.page) : t.frame.page_of(of.page, last)} ·{' '}
        {t.frame.entries(number(of.total), of.total_is_at_least)}
      </span>
      <span class="row tight">
        <Button slim disabled={of.page === 1} onClick={() => turn(of.page - 1)}>
          {t.frame.previous}
        </Button>
        <Button slim disabled={!of.next_page} onClick={() => turn(of.next_page!)}>
          {t.frame.next}
        </Button>
      </span>
    </nav>
  );
}

// Shows what was read, and how old it is if it couldn't be read again; that it is being read; or why it couldn't be.
export function Read<T>({
  of,
  children,
}: {
  of: { value: T | null; error: ApiError | null; at: number; again: () => void };
  children: (value: T) => ComponentChildren;
}) {
  // What was read before is still worth something, as long as nobody takes it for new.
  if (of.error && of.value !== null)
    return (
      <>
        <p class="stale small" role="status">
          {t.frame.stale(time_of_day(of.at))} {of.error.message}{' '}
          <Button slim onClick={of.again}>
            {t.frame.again}
          </Button>
        </p>
        {children(of.value)}
      </>
    );
  if (of.error)
    return (
      <div class="body">
        <Failed error={of.error} again={of.again} />
      </div>
    );
  if (of.value === null)
    return (
      <div class="body">
        <Bones />
      </div>
    );
  return <>{children(of.value)}</>;
}
