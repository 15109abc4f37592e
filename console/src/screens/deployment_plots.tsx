// What a deployment used over time, with its limits and its rollouts.
import { useMemo, useState } from 'preact/hooks';
import { type Answer, call } from '../api';
import { type Line, Plot } from '../components/plot';
import { Read } from '../components/table';
import { Button, Card } from '../components/ui';
import { useReading } from '../components/use';
import type { Deployment } from '../data';
import { compact, number } from '../format';
import { t } from '../messages';
import { type Entry, rollouts_of } from './deployment_history';

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

function One({ shown, history, times, marks }: { shown: Shown; history: History; times: number[]; marks: number[] }) {
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

export function Plots({ deployment, entries }: { deployment: Deployment; entries: Entry[] | null }) {
  const [span, choose] = useState<Window>('day');
  const history = useReading(() => {
    const from = new Date(Date.now() - windows[span]).toISOString();
    const query = { from, step: of_minutes.includes(span) ? (60 as const) : (900 as const) };
    return call('get', '/api/deploy/apps/{id}/metrics/history', {
      path: { id: deployment.id },
      app: deployment.app_id,
      query,
    });
  }, [deployment.id, span]);
  const times = useMemo(() => {
    if (!history.value) return [];
    const { from, step, count } = history.value;
    return Array.from({ length: count }, (_, index) => Date.parse(from) / 1_000 + index * step);
  }, [history.value]);
  const marks = useMemo(
    () => rollouts_of(entries ?? []).filter((at) => at >= (times[0] ?? Infinity)),
    [entries, times],
  );
  return (
    <Card
      title={t.plots.heading}
      bare
      actions={
        <div class="row tight" role="group" aria-label={t.plots.window}>
          {(Object.keys(windows) as Window[]).map((one) => (
            <button key={one} type="button" class="button slim" aria-pressed={one === span} onClick={() => choose(one)}>
              {t.plots.windows[one]}
            </button>
          ))}
          <Button slim kinds={['plain']} icon="restart" label={t.plots.again} onClick={history.again} />
        </div>
      }>
      <Read of={history}>
        {(value) => (
          <div class="body plots">
            {plots_of(deployment).map((shown) => (
              <One key={shown.name} shown={shown} history={value} times={times} marks={marks} />
            ))}
            <p class="small faint">{t.plots.explained}</p>
          </div>
        )}
      </Read>
    </Card>
  );
}
