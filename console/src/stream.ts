// Server-sent events (WHATWG HTML, section 9.2) over fetch, because EventSource can't send the header that the cookie's
// access needs. A stream that breaks is resumed with Last-Event-ID, after a wait that grows.
import { ApiError, errorOf } from './api';
import { headersFor } from './begun';

export interface StreamEvent {
  id: string;
  name: string;
  data: string;
}

interface Following {
  url: string;
  app?: string;
  // Called with the events of each piece of the stream, so that many lines make one change of the page.
  onEvents: (events: StreamEvent[]) => void;
  onState?: (state: 'open' | 'waiting' | 'ended') => void;
  // The stream is refused for good: the login has expired, or the thing is gone.
  onRefused?: (error: ApiError) => void;
}

const shortest_wait = 1_000;
const longest_wait = 30_000;

// Splits a text that arrives in pieces into events.
export class EventParser {
  private rest = '';
  private id = '';
  private name = '';
  private data: string[] = [];
  retry = shortest_wait;

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
      if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
    }
    return events;
  }
}

// Returns the function that ends the stream.
export function follow({ url, app, onEvents, onState, onRefused }: Following): () => void {
  const abort = new AbortController();
  let last = '';
  let failures = 0;

  async function once(): Promise<'again' | 'end'> {
    const parser = new EventParser();
    const response = await fetch(url, {
      headers: { Accept: 'text/event-stream', ...headersFor(app), ...(last ? { 'Last-Event-ID': last } : {}) },
      signal: abort.signal,
      cache: 'no-store',
    });
    if (response.status === 204) return 'end';
    if (!response.ok) {
      const error = await errorOf(response);
      if (error.status < 500 && error.status !== 429) {
        onRefused?.(error);
        return 'end';
      }
      throw error;
    }
    onState?.('open');
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return 'again';
      const events = parser.read(value);
      if (events.length === 0) continue;
      failures = 0;
      last = events.at(-1)!.id || last;
      onEvents(events);
    }
  }

  async function run() {
    for (;;) {
      let wait = shortest_wait;
      try {
        if ((await once()) === 'end') {
          onState?.('ended');
          return;
        }
      } catch (failure) {
        if (abort.signal.aborted) return;
        if (failure instanceof ApiError) wait = Math.max(wait, failure.retryAfter * 1_000);
      }
      if (abort.signal.aborted) return;
      onState?.('waiting');
      wait = Math.max(wait, Math.min(longest_wait, shortest_wait * 2 ** failures++));
      await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
      if (abort.signal.aborted) return;
    }
  }
  void run();
  return () => abort.abort();
}
