// The worker that all tabs share, which has their streams (streams.ts). A tab says that it is going; of one that ended in
// another way, the browser takes the lock away.
import { Hub, type News, type Wish } from './streams';

export type ToHub = { follow: number; wish: Wish } | { end: number } | { lock: string } | { bye: true };
export interface FromHub {
  to: number;
  news: News;
}

const hub = new Hub();

function serve(port: MessagePort): void {
  const ends = new Map<number, () => void>();
  const leave = () => {
    for (const end of ends.values()) end();
    ends.clear();
  };
  port.onmessage = ({ data }: MessageEvent<ToHub>) => {
    if ('follow' in data) {
      const to = data.follow;
      ends.set(
        to,
        hub.follow(data.wish, (news) => port.postMessage({ to, news } satisfies FromHub)),
      );
    } else if ('end' in data) {
      ends.get(data.end)?.();
      ends.delete(data.end);
    } else if ('lock' in data) void navigator.locks.request(data.lock, leave);
    else leave();
  };
}

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = ({ ports }) => serve(ports[0]!);
