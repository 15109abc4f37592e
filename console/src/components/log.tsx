// A container's output: followed live, searched, downloaded. Only the lines that can be seen are elements of the page,
// so that 100,000 lines scroll as smoothly as ten.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { fill } from '../api';
import { save_file } from '../files';
import { time_of_day } from '../format';
import { t } from '../messages';
import { logins, me } from '../session';
import { follow, type StreamEvent } from '../stream';
import { Words } from './fields';
import { Button } from './ui';

const line_height = 20; // as in .log .line
const beyond = 20; // lines that are drawn above and below what can be seen
const most_lines = 100_000;
const first_tail = 5_000;

export interface Line {
  at: string; // HH:MM:SS, or empty
  text: string;
}

// An event's id begins with the time of the line: RFC 3339, in nanoseconds.
function line_of({ id, data }: StreamEvent): Line {
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.exec(id)?.[0];
  return { at: at ? time_of_day(`${at}Z`) : '', text: data.replace(/\x1b\[[0-9;]*m/g, '') };
}

function Marked({ text, needle }: { text: string; needle: string }) {
  if (!needle) return <>{text}</>;
  const parts = [];
  const low = text.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(needle); at >= 0; at = low.indexOf(needle, from)) {
    parts.push(text.slice(from, at), <mark>{text.slice(at, at + needle.length)}</mark>);
    from = at + needle.length;
  }
  return (
    <>
      {parts}
      {text.slice(from)}
    </>
  );
}

export function Log({
  id,
  app,
  name,
  instance = '',
  beside,
}: {
  id: string;
  app: string;
  name: string;
  instance?: string; // the one container whose output is shown
  beside?: ComponentChildren; // stands before the other tools
}) {
  const all = useRef<Line[]>([]);
  const [count, set_count] = useState(0); // changes with each line that arrives
  const [paused, pause] = useState(false);
  const [previous, show_previous] = useState(false);
  const [words, search] = useState('');
  const [state, set_state] = useState<'open' | 'waiting' | 'ended'>('waiting');
  const [refused, refuse] = useState('');
  const [view, look] = useState({ top: 0, height: 600 });
  const [at_end, stay] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const arrived = useRef(0);

  useEffect(() => {
    all.current = [];
    arrived.current = 0;
    set_count(0);
    refuse('');
    const account = me.value!.id;
    const url = fill(
      '/api/deploy/apps/{id}/container-logs',
      { id },
      { ...(previous ? { previous: true } : { follow: true }), tail: first_tail, instance },
    );
    // All logs that are followed as a whole share one connection; one container's has its own.
    const alone = previous || instance !== '';
    return follow(
      alone ? { kind: 'url', url, app, account, once: previous } : { kind: 'log', deployment: id, account },
      {
        onEvents: (all_events) => {
          // The server can't read the log at the moment, and goes on trying.
          const problem = all_events.findLast((event) => event.name === 'problem');
          const events = all_events.filter((event) => event.name !== 'problem');
          if (problem) refuse(JSON.parse(problem.data).message);
          else refuse('');
          for (const event of events) all.current.push(line_of(event));
          if (all.current.length > most_lines) all.current.splice(0, all.current.length - most_lines);
          arrived.current += events.length;
          set_count(arrived.current);
        },
        onState: set_state,
        onRefused: (error) => refuse(error.message),
      },
    );
  }, [id, app, previous, instance, logins.value]);

  // While the log is paused, the lines that are shown stay as they are.
  const frozen = useRef<Line[]>([]);
  useLayoutEffect(() => {
    frozen.current = paused ? all.current.slice() : [];
    set_count(arrived.current + (paused ? 0.5 : 0));
  }, [paused]);
  const needle = words.toLowerCase();
  const lines = useMemo(() => {
    const source = paused && frozen.current.length ? frozen.current : all.current;
    return needle ? source.filter((line) => line.text.toLowerCase().includes(needle)) : source;
  }, [count, needle, paused]);

  useLayoutEffect(() => {
    const element = box.current!;
    if (at_end && !paused) element.scrollTop = element.scrollHeight;
  }, [count, at_end, paused, needle]);
  useEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() => look({ top: element.scrollTop, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  function scrolled() {
    const element = box.current;
    if (!element) return; // The browser tells of a scroll a moment later, and then another screen may be open.
    look({ top: element.scrollTop, height: element.clientHeight });
    stay(element.scrollHeight - element.scrollTop - element.clientHeight < 2 * line_height);
  }
  function download() {
    save_file(`${name}.log`, 'text/plain', all.current.map((line) => line.text).join('\n') + '\n');
  }

  const first = Math.max(0, Math.floor(view.top / line_height) - beyond);
  const last = Math.min(lines.length, Math.ceil((view.top + view.height) / line_height) + beyond);
  const shown = [];
  for (let index = first; index < last; ++index) {
    const line = lines[index]!;
    shown.push(
      <div class="line" key={index} style={{ top: `${index * line_height}px` }}>
        {line.at && <time>{line.at}</time>}
        <span>
          <Marked text={line.text} needle={needle} />
        </span>
      </div>,
    );
  }
  return (
    <section class="log" aria-label={t.logs.label}>
      <div class="tools">
        {beside}
        <Words label={t.logs.search} value={words} onWords={search} />
        <span class="small number" aria-live="off">
          {needle ? t.logs.found(lines.length, all.current.length) : t.logs.lines(all.current.length)}
        </span>
        <Button
          slim
          icon={paused ? 'play' : 'pause'}
          aria-pressed={paused}
          onClick={() => pause(!paused)}
          disabled={previous}>
          {paused ? t.logs.go_on : t.logs.pause}
        </Button>
        <Button
          slim
          aria-pressed={previous}
          onClick={() => {
            show_previous(!previous);
            pause(false);
          }}>
          {t.logs.previous}
        </Button>
        <Button slim icon="download" onClick={download} disabled={all.current.length === 0}>
          {t.logs.download}
        </Button>
      </div>
      <div
        class="lines"
        ref={box}
        onScroll={scrolled}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t.logs.label}>
        {lines.length === 0 && (
          <p class="nothing">
            {refused || (needle ? t.logs.nothing_found : state === 'ended' ? t.logs.ended_empty : t.logs.waiting)}
          </p>
        )}
        <div style={{ height: `${lines.length * line_height}px` }}>{shown}</div>
      </div>
    </section>
  );
}
