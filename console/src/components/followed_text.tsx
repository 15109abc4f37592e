// A text that the server goes on writing, such as the log of a build or the output of a run, followed to its end. It is
// short enough to be one text.
import { useEffect, useState } from 'preact/hooks';
import { logins, me } from '../session';
import { follow } from '../stream';

export function FollowedText<T extends { status: string }>({
  url,
  app,
  label,
  empty,
  shown,
  is_over,
  onStatus,
}: {
  url: string;
  app: string;
  label: string;
  empty: string; // while there is nothing
  shown: T['status']; // what the page says about the thing
  is_over: (thing: T) => boolean;
  onStatus: () => void; // the thing's status is no longer the shown one
}) {
  const [text, set] = useState('');
  const [refused, refuse] = useState('');
  useEffect(() => {
    set('');
    refuse('');
    let last = shown;
    const end = follow(
      { kind: 'url', url, app, account: me.value!.id },
      {
        onEvents: (events) => {
          const lines = events.filter((event) => event.name !== 'status').map((event) => `${event.data}\n`);
          if (lines.length) set((before) => before + lines.join(''));
          const status = events.findLast((event) => event.name === 'status');
          if (!status) return;
          const thing: T = JSON.parse(status.data);
          if (is_over(thing)) end();
          if (thing.status !== last) onStatus();
          last = thing.status;
        },
        onRefused: (error) => refuse(error.message),
      },
    );
    return end;
  }, [url, logins.value]);
  return (
    <pre class="output" role="log" aria-live="off" aria-label={label} tabIndex={0}>
      {refused || text || empty}
    </pre>
  );
}
