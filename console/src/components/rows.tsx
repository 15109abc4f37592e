// A list of which only the rows that can be seen are elements of the page, so that thousands scroll as smoothly as ten.
// All rows have the height --row of their list.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const beyond = 12; // rows that are drawn above and below what can be seen

export function Rows<T>({
  label,
  items,
  row,
}: {
  label: string;
  items: T[];
  row: (
    item: T,
    place: { style: { top: string }; 'aria-setsize': number; 'aria-posinset': number },
  ) => ComponentChildren;
}) {
  const list = useRef<HTMLUListElement>(null);
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
  return (
    <ul class="rows card" aria-label={label} ref={list} style={{ height: `${items.length * height}px` }}>
      {items.slice(first, last).map((item, index) =>
        row(item, {
          style: { top: `${(first + index) * height}px` },
          'aria-setsize': items.length,
          'aria-posinset': first + index + 1,
        }),
      )}
    </ul>
  );
}
