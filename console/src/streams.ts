// The server-sent events (WHATWG HTML, section 9.2) of all tabs of a browser. A browser opens few connections to a
// server, so that tabs share them: one for everything that happens to an account's apps, and one for all logs of
// containers. This runs in a worker that the tabs share (hub.ts); where a browser has none, in each tab. Streams are read
// by fetch, because EventSource can't send the header that the cookie's access needs. A stream that breaks is resumed
// after a wait that grows.
import { headersFor } from './begun';

export interface StreamEvent {
  id: string;
  name: string;
  data: string;
}

export interface Refusal {
  status: number;
  retry: number; // seconds
  body: unknown;
}

// What a tab wants to follow. The account is whose login the tab has: logins of different people share nothing.
export type Wish = { account: string } & (
  | { kind: 'account' } // GET /api/events
  | { kind: 'log'; deployment: string }
  | { kind: 'url'; url: string; app: string | undefined; once?: boolean } // once: until an answer has ended
);
export type News = { events: StreamEvent[] } | { state: 'open' | 'waiting' | 'ended' } | { refused: Refusal };
export type Tell = (news: News) => void;

const shortest_wait = 1_000;
const longest_wait = 30_000;
const gathering = 50; // ms in which logs that are opened together become one request
const told_each = 200; // ms; lines that come in between are told together, so that many logs don't keep tabs busy
const most_logs = 20; // of a stream, as the server has it
const kept_lines = 5_000; // of a log, for tabs that open it later
const most_of_urls = 2; // connections at a time for streams that aren't shared

// Splits a text that arrives in pieces into events.
export class EventParser {
  private rest = '';
  private id = '';
  private name = '';
  private data: string[] = [];

  read(text: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop()!;
    for (const line of lines) {
      if (line === '') {
        if (this.data.length) events.push({ id: this.id, name: this.name || 'message', data: this.data.join('\n') });
        this.name = '';
        this.data = [];
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'id') this.id = value;
      if (field === 'event') this.name = value;
      if (field === 'data') this.data.push(value);
    }
    return events;
  }
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true });
  });

interface Connection {
  url: () => string; // asked at each attempt
  app?: string | undefined;
  last?: () => string; // the id of the last event, to resume after it
  once?: boolean; // it is over with the first answer that ends
  onState: (state: 'open' | 'waiting' | 'ended') => void;
  onEvents: (events: StreamEvent[]) => void;
  onRefused: (refusal: Refusal) => void;
}

// Follows a stream until it is aborted, refused or over.
async function connect(to: Connection, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    let wait = shortest_wait;
    try {
      const last = to.last?.();
      const response = await fetch(to.url(), {
        headers: { Accept: 'text/event-stream', ...headersFor(to.app), ...(last ? { 'Last-Event-ID': last } : {}) },
        signal,
        cache: 'no-store',
        credentials: 'same-origin',
      });
      if (response.status === 204) return to.onState('ended');
      if (!response.ok) {
        const retry = Number(response.headers.get('Retry-After') ?? 0);
        if (response.status < 500 && response.status !== 429)
          return to.onRefused({ status: response.status, retry, body: await response.json().catch(() => ({})) });
        wait = Math.max(wait, retry * 1_000);
      } else {
        to.onState('open');
        const parser = new EventParser();
        const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          const events = parser.read(value);
          if (events.length === 0) continue;
          failures = 0;
          to.onEvents(events);
        }
        if (to.once) return to.onState('ended');
      }
    } catch {
      // The connection broke, or the stream isn't wanted any more.
    }
    if (signal.aborted) return;
    to.onState('waiting');
    wait = Math.max(wait, Math.min(longest_wait, shortest_wait * 2 ** failures++));
    await pause(wait * (0.75 + Math.random() / 2), signal);
  }
}

// A stream that several tabs look at.
class Shared {
  readonly followers = new Set<Tell>();
  tell: Tell = (news) => this.followers.forEach((follower) => follower(news));
}

// Everything that happens to the account's apps.
class AccountStream extends Shared {
  private readonly abort = new AbortController();
  private is_open = false;
  private last = '';

  constructor(gone: () => void) {
    super();
    void connect(
      {
        url: () => '/api/events',
        last: () => this.last,
        onState: (state) => {
          this.is_open = state === 'open';
          this.tell({ state });
        },
        onEvents: (events) => {
          this.last = events.at(-1)!.id || this.last;
          this.tell({ events });
        },
        onRefused: (refused) => {
          gone();
          this.tell({ refused });
        },
      },
      this.abort.signal,
    );
  }
  // A tab that comes later reads its lists as if the stream had just begun.
  add(follower: Tell): void {
    this.followers.add(follower);
    if (!this.is_open) return;
    follower({ state: 'open' });
    follower({ events: [{ id: '', name: 'ready', data: '{"resumed":false}' }] });
  }
  end(): void {
    this.abort.abort();
  }
}

class LogOfDeployment extends Shared {
  lines: StreamEvent[] = [];
  state: 'open' | 'waiting' | 'ended' = 'waiting';
  failures = 0;
  retry: ReturnType<typeof setTimeout> | undefined;

  private untold: StreamEvent[] = [];
  private telling: ReturnType<typeof setTimeout> | undefined;

  take(line: StreamEvent): void {
    this.failures = 0;
    this.lines.push(line);
    this.untold.push(line);
    if (this.lines.length > 2 * kept_lines) this.lines.splice(0, this.lines.length - kept_lines);
    this.telling ??= setTimeout(() => this.tell_lines(), told_each);
  }
  tell_lines(): void {
    clearTimeout(this.telling);
    this.telling = undefined;
    if (this.untold.length) this.tell({ events: this.untold.splice(0) });
  }
  become(state: 'open' | 'waiting' | 'ended'): void {
    this.state = state;
    this.tell({ state });
  }
}

// The logs of all deployments that a tab shows, on one connection. It is made anew when a log is added.
class LogStream {
  private readonly logs = new Map<string, LogOfDeployment>();
  private abort = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  add(deployment: string, follower: Tell): void {
    let log = this.logs.get(deployment);
    if (!log) this.logs.set(deployment, (log = new LogOfDeployment()));
    log.tell_lines();
    log.followers.add(follower);
    follower({ state: log.state });
    if (log.lines.length) follower({ events: log.lines.slice(-kept_lines) });
    if (log.followers.size === 1) this.reconnect();
  }
  remove(deployment: string, follower: Tell): boolean {
    const log = this.logs.get(deployment);
    log?.followers.delete(follower);
    if (log?.followers.size === 0) {
      clearTimeout(log.retry);
      this.logs.delete(deployment);
    }
    if (this.logs.size === 0) this.end();
    return this.logs.size === 0;
  }
  end(): void {
    clearTimeout(this.timer);
    this.abort.abort();
  }

  private wanted = () => [...this.logs].filter(([, log]) => log.state !== 'ended').slice(-most_logs);
  private reconnect(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.abort.abort();
      if (this.wanted().length === 0) return;
      this.abort = new AbortController();
      void connect(
        {
          url: () =>
            `/api/deploy/container-logs?logs=${encodeURIComponent(
              this.wanted()
                .map(([id, { lines }]) => (lines.length ? `${id}~${lines.at(-1)!.id}` : id))
                .join(','),
            )}`,
          onState: (state) => {
            // The stream ends when the last log does.
            if (state === 'waiting' && this.wanted().length === 0) return this.abort.abort();
            for (const [, log] of this.wanted()) log.become(state);
          },
          onEvents: (events) => this.take(events),
          onRefused: (refused) => {
            for (const [, log] of this.wanted()) log.tell({ refused });
          },
        },
        this.abort.signal,
      );
    }, gathering);
  }
  private take(events: StreamEvent[]): void {
    for (const { name, data } of events) {
      const { deployment_id, id = '', text = '', code, message } = JSON.parse(data);
      const log = this.logs.get(deployment_id);
      if (!log) continue;
      if (name === 'line') log.take({ id, name: 'message', data: text });
      else if (name === 'problem') log.tell({ events: [{ id: '', name, data: JSON.stringify({ message }) }] });
      else if (name === 'end') this.ended(log, code, message);
    }
  }
  // A log that isn't there yet is looked for again.
  private ended(log: LogOfDeployment, code?: string, message?: string): void {
    log.tell_lines();
    log.become('ended');
    if (!code) return;
    log.tell({ refused: { status: code === 'unavailable' ? 503 : 409, retry: 0, body: { error: { code, message } } } });
    if (code !== 'unavailable' && code !== 'invalid_state') return;
    log.retry = setTimeout(
      () => {
        log.become('waiting');
        this.reconnect();
      },
      Math.min(longest_wait, 2 * shortest_wait * 2 ** log.failures++),
    );
  }
}

// Follows what tabs wish.
export class Hub {
  private readonly accounts = new Map<string, AccountStream>();
  private readonly logs = new Map<string, LogStream>();
  private open_urls = 0;
  private readonly waiting: (() => void)[] = [];

  // Returns the function that ends it.
  follow(wish: Wish, tell: Tell): () => void {
    const { account } = wish;
    if (wish.kind === 'account') {
      let stream = this.accounts.get(account);
      if (!stream) this.accounts.set(account, (stream = new AccountStream(() => this.accounts.delete(account))));
      const joined = stream;
      joined.add(tell);
      return () => {
        joined.followers.delete(tell);
        if (joined.followers.size > 0) return;
        joined.end();
        if (this.accounts.get(account) === joined) this.accounts.delete(account);
      };
    }
    if (wish.kind === 'log') {
      let stream = this.logs.get(account);
      if (!stream) this.logs.set(account, (stream = new LogStream()));
      const joined = stream;
      joined.add(wish.deployment, tell);
      return () => {
        if (joined.remove(wish.deployment, tell) && this.logs.get(account) === joined) this.logs.delete(account);
      };
    }
    const abort = new AbortController();
    void this.follow_url(wish, tell, abort.signal);
    return () => abort.abort();
  }

  private async follow_url(wish: Wish & { kind: 'url' }, tell: Tell, signal: AbortSignal): Promise<void> {
    const { url, app, once = false } = wish;
    while (this.open_urls >= most_of_urls && !signal.aborted)
      await new Promise<void>((go_on) => {
        this.waiting.push(go_on);
        signal.addEventListener(
          'abort',
          () => {
            const own = this.waiting.indexOf(go_on);
            if (own >= 0) this.waiting.splice(own, 1);
            go_on();
          },
          { once: true },
        );
      });
    if (signal.aborted) {
      // It may have been woken for a place that it doesn't need any more.
      if (this.open_urls < most_of_urls) this.waiting.shift()?.();
      return;
    }
    ++this.open_urls;
    let last = '';
    await connect(
      {
        url: () => url,
        app,
        once,
        last: () => last,
        onState: (state) => tell({ state }),
        onEvents: (events) => {
          last = events.at(-1)!.id || last;
          tell({ events });
        },
        onRefused: (refused) => tell({ refused }),
      },
      signal,
    );
    --this.open_urls;
    this.waiting.shift()?.();
  }
}
