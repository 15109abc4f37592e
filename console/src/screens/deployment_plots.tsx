// What a deployment used over time, with its limits and its rollouts.
import { useMemo, useState } from 'preact/hooks';
import { type Answer, call } from '../api';
import { type Line, Plot } from '../components/plot';
import { Read } from '../components/table';
import { Button, Card, Choices } from '../components/ui';
import { useReading } from '../components/use';
import type { Deployment } from '../data';
import { compact, number, share } from '../format';
import { t } from '../messages';
import { type Entry, rollouts_of } from './rollouts';

type History = Answer<'get', '/api/deploy/apps/{id}/metrics/history'>;
type Metric = keyof History['series'];
const hour = 3_600_000; // ms
const windows = { hour, day: 24 * hour, week: 7 * 24 * hour, month: 30 * 24 * hour };
type Window = keyof typeof windows;
const mebibyte = 1_048_576;
const of_minutes: Window[] = ['hour', 'day'];

interface Shown {
  name: string;
  metrics: [Metric, string][];
  limit?: number;
  unit?: number; // of the plot, in units of the metric
  show?: (value: number) => string;
}

const plots_of = (deployment: Deployment): Shown[] => [
  { name: t.plots.cpu, metrics: [['cpu', t.metrics.cpu]], limit: deployment.cpu_limit_millicores },
  { name: t.plots.memory, metrics: [['memory', t.metrics.memory]], limit: deployment.memory_limit_mb, unit: mebibyte },
  {
    name: t.plots.requests,
    metrics: [
      ['requests_2xx', '2xx'],
      ['requests_3xx', '3xx'],
      ['requests_4xx', '4xx'],
      ['requests_5xx', '5xx'],
    ],
  },
  {
    name: t.plots.latency,
    metrics: [
      ['latency_p50', '50 %'],
      ['latency_p95', '95 %'],
      ['latency_p99', '99 %'],
    ],
  },
  {
    name: t.plots.restarts,
    metrics: [
      ['restarts', t.metrics.restarts],
      ['replicas', t.plots.replicas],
    ],
    show: (value) => (Number.isInteger(value) ? number(value) : ''),
  },
];

function One({
  shown,
  history,
  times,
  from,
  to,
  marks,
}: {
  shown: Shown;
  history: History;
  times: number[];
  from: number;
  to: number;
  marks: number[];
}) {
  const lines: Line[] = useMemo(
    () =>
      shown.metrics.map(([metric, name]) => ({
        name,
        values: (history.series[metric] ?? []).map((value) => (value === null ? null : value / (shown.unit ?? 1))),
      })),
    [history],
  );
  const known = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const show = shown.show ?? compact;
  return (
    <div class="one-plot">
      <h3>{shown.name}</h3>
      {known.length === 0 ? (
        <p class="soft small">{t.plots.not_measured}</p>
      ) : (
        <Plot
          times={times}
          from={from}
          to={to}
          lines={lines}
          marks={marks}
          show={show}
          {...(shown.limit === undefined ? {} : { limit: shown.limit })}
          label={t.plots.label(
            shown.name,
            show(Math.min(...known)),
            show(Math.max(...known)),
            shown.limit === undefined ? '' : show(shown.limit),
            marks.length,
          )}
        />
      )}
    </div>
  );
}

type Now = Answer<'get', '/api/deploy/apps/{id}/metrics'>;
const now_of: Partial<Record<Metric, (now: Now) => number | null | undefined>> = {
  cpu: (now) => now.cpu,
  memory: (now) => now.memory,
  restarts: (now) => now.restarts,
};
const least_window = 10 * 60_000; // ms
const second = 1_000;

// The shortest window that has all of a young deployment's life.
const window_of = (age: number): Window =>
  (Object.keys(windows) as Window[]).find((one) => age <= windows[one]) ?? 'day';

// The history with what was measured right now at its end, so that there is something to see from the first minute on.
function with_now(history: History, now: Now | null): History {
  if (!now || Date.parse(history.from) + history.count * history.step * second < Date.now() - 2 * history.step * second)
    return history;
  const series = Object.fromEntries(
    Object.entries(history.series).map(([metric, values]) => {
      const present = now_of[metric as Metric]?.(now);
      const last = values.length - 1;
      const known = present === undefined || present === null || last < 0 || values[last] !== null;
      return [metric, known ? values : [...values.slice(0, last), present]];
    }),
  );
  return { ...history, series } as History;
}

const sum = (values: readonly (number | null)[] = []) => values.reduce<number>((all, one) => all + (one ?? 0), 0);

// What the reader wants to know first: how many requests came, how many failed, and how long they took.
function Figures({ of }: { of: History }) {
  const { series } = of;
  const by_class = (['requests_2xx', 'requests_3xx', 'requests_4xx', 'requests_5xx'] as const).map(
    (one) => series[one],
  );
  const all = by_class.reduce((total, values) => total + sum(values), 0);
  const known = by_class.some((values) => values?.some((value) => value !== null));
  const latest = (metric: Metric) => series[metric]?.findLast((value) => value !== null);
  const milliseconds = (value: number | null | undefined) =>
    value == null ? '–' : t.plots.ms(number(Math.round(value)));
  return (
    <div class="figures">
      <div class="figure">
        <span class="small faint">{t.metrics.requests}</span>
        <span class="value">{known ? number(all) : '–'}</span>
      </div>
      <div class="figure">
        <span class="small faint">{t.plots.errors}</span>
        <span class="value">{known ? share(all ? sum(series.requests_5xx) / all : 0) : '–'}</span>
      </div>
      <div class="figure">
        <span class="small faint">{t.plots.half_within}</span>
        <span class="value">{milliseconds(latest('latency_p50'))}</span>
      </div>
      <div class="figure">
        <span class="small faint">{t.plots.most_within}</span>
        <span class="value">{milliseconds(latest('latency_p95'))}</span>
      </div>
    </div>
  );
}

export function Plots({
  deployment,
  entries,
  now,
}: {
  deployment: Deployment;
  entries: Entry[] | null;
  now: Now | null;
}) {
  const born = Date.parse(deployment.inserted_at);
  const [span, choose] = useState<Window>(() => window_of(Date.now() - born));
  const history = useReading(() => {
    const from = new Date(Date.now() - windows[span]).toISOString();
    const query = { from, step: of_minutes.includes(span) ? (60 as const) : (900 as const) };
    return call('get', '/api/deploy/apps/{id}/metrics/history', {
      path: { id: deployment.id },
      app: deployment.app_id,
      query,
    });
  }, [deployment.id, span]);
  const shown = useMemo(() => history.value && with_now(history.value, now), [history.value, now]);
  const times = useMemo(() => {
    if (!history.value) return [];
    const { from, step, count } = history.value;
    return Array.from({ length: count }, (_, index) => Date.parse(from) / second + index * step);
  }, [history.value]);
  const marks = useMemo(
    () => rollouts_of(entries ?? []).filter((at) => at >= (times[0] ?? Infinity)),
    [entries, times],
  );
  // A young deployment's plots begin with it, and not with hours in which there was nothing.
  const to = (times.at(-1) ?? 0) + (history.value?.step ?? 0);
  const from = Math.max(times[0] ?? 0, Math.min(born, Date.now() - least_window) / second);
  return (
    <Card
      title={t.plots.heading}
      bare
      actions={
        <Choices
          label={t.plots.window}
          of={Object.keys(windows) as Window[]}
          chosen={span}
          choose={choose}
          name={(one) => t.plots.windows[one]}>
          <Button slim kinds={['plain']} icon="restart" label={t.plots.again} onClick={history.again} />
        </Choices>
      }>
      <Read of={history}>
        {(value) => (
          <div class="body stack wide">
            <Figures of={shown ?? value} />
            <div class="plots">
              {plots_of(deployment).map((one) => (
                <One
                  key={one.name}
                  shown={one}
                  history={shown ?? value}
                  times={times}
                  from={from}
                  to={to}
                  marks={marks}
                />
              ))}
              <p class="small faint">{t.plots.explained}</p>
            </div>
          </div>
        )}
      </Read>
    </Card>
  );
}
