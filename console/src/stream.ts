// Following streams of events: through the worker that all tabs of the browser share, or by this tab alone where there is
// none. All of a tab's streams end when its page is left, so that none goes on in the browser's back/forward cache.
import { ApiError, error_of, newKey } from './api';
import type { FromHub, ToHub } from './hub';
import { Hub, type News, type StreamEvent, type Tell, type Wish } from './streams';

export type { StreamEvent } from './streams';

// The address of the worker, which build.mjs puts here.
declare const HUB: string;

export interface Following {
  // Called with the events of each piece of the stream, so that many lines make one change of the page.
  onEvents: (events: StreamEvent[]) => void;
  onState?: (state: 'open' | 'waiting' | 'ended') => void;
  // The stream is refused for good: the login has expired, or the thing is gone.
  onRefused?: (error: ApiError) => void;
}

interface Way {
  follow: (wish: Wish, tell: Tell) => () => void;
  leave: () => void;
}

function by_worker(): Way {
  const { port } = new SharedWorker(HUB, { name: 'berth' });
  const tells = new Map<number, Tell>();
  let number = 0;
  const send = (message: ToHub) => port.postMessage(message);
  port.onmessage = ({ data: { to, news } }: MessageEvent<FromHub>) => tells.get(to)?.(news);
  const lock = `berth-tab-${newKey()}`;
  void navigator.locks.request(lock, () => {
    send({ lock });
    return new Promise<void>(() => {}); // held as long as this page is there
  });
  return {
    follow(wish, tell) {
      const own = ++number;
      tells.set(own, tell);
      send({ follow: own, wish });
      return () => {
        tells.delete(own);
        send({ end: own });
      };
    },
    leave: () => send({ bye: true }),
  };
}

function alone(): Way {
  const hub = new Hub();
  const ends = new Set<() => void>();
  return {
    follow(wish, tell) {
      const end = hub.follow(wish, tell);
      ends.add(end);
      return () => {
        ends.delete(end);
        end();
      };
    },
    leave() {
      for (const end of ends) end();
    },
  };
}

let way: Way | undefined;
function the_way(): Way {
  if (way) return way;
  way = typeof SharedWorker === 'function' && 'locks' in navigator ? by_worker() : alone();
  addEventListener('pagehide', way.leave);
  return way;
}

// Returns the function that ends the stream.
export function follow(wish: Wish, { onEvents, onState, onRefused }: Following): () => void {
  let over = false;
  const tell = (news: News) => {
    if (over) return; // news that were on their way
    if ('events' in news) onEvents(news.events);
    else if ('state' in news) onState?.(news.state);
    else onRefused?.(error_of(news.refused.status, news.refused.retry, news.refused.body));
  };
  const end = the_way().follow(wish, tell);
  return () => {
    over = true;
    end();
  };
}
