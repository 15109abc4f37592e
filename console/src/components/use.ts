import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api';

// What useReading() has read.
export interface Reading<T> {
  value: T | null;
  error: ApiError | null;
  done: boolean; // whether an answer came, which may be null
  at: number; // when the value was read, in ms since the epoch
  again: () => void;
}

// Reads something from the API when the screen opens, and again when `keys` change. What was read before stays until
// the new answer is there; an answer that came too late is dropped.
export function useReading<T>(read: () => Promise<T>, keys: unknown[]): Reading<T> {
  const [state, set] = useState<Omit<Reading<T>, 'again'>>({ value: null, error: null, done: false, at: 0 });
  const turn = useRef(0);
  const again = useCallback(() => {
    const mine = ++turn.current;
    read().then(
      (value) => mine === turn.current && set({ value, error: null, done: true, at: Date.now() }),
      (error) => mine === turn.current && set((before) => ({ ...before, error })),
    );
  }, keys);
  useEffect(() => {
    again();
    return () => {
      ++turn.current;
    };
  }, [again]);
  return { ...state, again };
}

// Calls `again` when somebody comes back to the tab or the window.
export function useReturn(again: () => void): void {
  useEffect(() => {
    addEventListener('focus', again);
    return () => removeEventListener('focus', again);
  }, [again]);
}

// Milliseconds within which what stands above an element has loaded.
const loaded_within = 10_000;

// Brings the element into view and gives it the focus if the address names it, as #tier does. It stays in view while what
// is beside it loads, until the person does something.
export function useAnchor<E extends HTMLElement>(name: string | undefined) {
  const element = useRef<E>(null);
  useEffect(() => {
    const wanted = element.current;
    if (!wanted || !name || location.hash !== `#${name}`) return;
    wanted.scrollIntoView();
    wanted.focus({ preventScroll: true });
    const around = new ResizeObserver(() => wanted.scrollIntoView());
    around.observe(wanted.parentElement ?? wanted);
    const over = new AbortController();
    const stop = () => over.abort();
    over.signal.addEventListener('abort', () => around.disconnect());
    for (const deed of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
      addEventListener(deed, stop, { signal: over.signal, passive: true });
    const timer = setTimeout(stop, loaded_within);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  return element;
}

// Runs a form's request. Returns whether it is under way, and berthd's refusal.
export function useSubmit(work: () => Promise<void>) {
  const [busy, set_busy] = useState(false);
  const [error, set_error] = useState<ApiError | null>(null);
  async function submit(event?: Event) {
    event?.preventDefault();
    if (busy) return;
    set_busy(true);
    set_error(null);
    try {
      await work();
    } catch (failure) {
      set_error(failure as ApiError);
      queueMicrotask(() => document.querySelector<HTMLElement>('[aria-invalid=true]')?.focus());
    } finally {
      set_busy(false);
    }
  }
  return { busy, error, submit, wrong: (field: string) => error?.fields[field] };
}
