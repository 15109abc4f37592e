// A table of which only the rows that can be seen are elements of the page, so that thousands scroll as smoothly as ten.
// All rows have the height --row of their table.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../messages';
import { Icon } from './icons';

const beyond = 12; // rows that are drawn above and below what can be seen

export interface RowColumn<K extends string> {
  key: K;
  name: string;
  unseen?: boolean; // the name is only for people who can't see
  sorts?: boolean;
}
export interface Sorting<K extends string> {
  by: K;
  down: boolean;
}

export function Rows<T, K extends string>({
  label,
  items,
  columns,
  sorting,
  onSort,
  kind,
  row,
}: {
  label: string;
  items: T[];
  columns: RowColumn<K>[];
  sorting?: Sorting<K>;
  onSort?: (by: K) => void;
  kind?: string; // a class, which gives the columns their widths
  row: (item: T) => ComponentChildren; // the cells
}) {
  const list = useRef<HTMLDivElement>(null);
  const [{ first, last, height }, show] = useState({ first: 0, last: 4 * beyond, height: 0 });
  useLayoutEffect(() => {
    let waiting = 0;
    const look = () => {
      waiting = 0;
      const each = parseFloat(getComputedStyle(list.current!).getPropertyValue('--row'));
      const above = -list.current!.getBoundingClientRect().top;
      const next = {
        first: Math.max(0, Math.floor(above / each) - beyond),
        last: Math.ceil((above + innerHeight) / each) + beyond,
        height: each,
      };
      show((now) => (now.first === next.first && now.last === next.last && now.height === next.height ? now : next));
    };
    const soon = () => {
      waiting ||= requestAnimationFrame(look);
    };
    look();
    addEventListener('scroll', soon, { passive: true });
    addEventListener('resize', soon);
    return () => {
      cancelAnimationFrame(waiting);
      removeEventListener('scroll', soon);
      removeEventListener('resize', soon);
    };
  }, [items.length]);
  const sort = (key: K) => (sorting?.by === key ? (sorting.down ? 'descending' : 'ascending') : 'none');
  return (
    <div class={`rows card ${kind ?? ''}`} role="table" aria-label={label} aria-rowcount={items.length + 1}>
      <div role="rowgroup">
        <div role="row" class="row-head" aria-rowindex={1}>
          {columns.map(({ key, name, unseen, sorts }) => (
            <span role="columnheader" key={key} class={`of-${key}`} aria-sort={sorts ? sort(key) : undefined}>
              {sorts ? (
                <button type="button" onClick={() => onSort?.(key)} title={t.frame.sort_by(name)}>
                  {name}
                  {sorting?.by === key && <Icon name={sorting.down ? 'down' : 'up'} size={14} />}
                </button>
              ) : unseen ? (
                <span class="unseen">{name}</span>
              ) : (
                name
              )}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="row-body" ref={list} style={{ height: `${items.length * height}px` }}>
        {items.slice(first, last).map((item, index) => (
          <div
            role="row"
            key={(item as { id?: string }).id ?? first + index}
            style={{ top: `${(first + index) * height}px` }}
            aria-rowindex={first + index + 2}>
            {row(item)}
          </div>
        ))}
      </div>
    </div>
  );
}
