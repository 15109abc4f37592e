// Lines over time, drawn by uPlot, which is loaded with the first plot.
import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { clock_time, compact, date_and_time, short_date, time_of_day } from '../format';
import { t } from '../messages';

const height = 180;
const ten_minutes = 600; // s
const two_days = 2 * 86_400; // s
const colours = ['--accent', '--good', '--warn', '--bad'];
const dashes = [4, 4]; // px

// Returns how the times of an axis are written, by the number of seconds that it spans.
const notation = (span: number) => (span < ten_minutes ? time_of_day : span < two_days ? clock_time : short_date);
const beside_label = 16; // px
const axis_font = (scale: number) => `${12 * scale}px system-ui`;
const colour_of = (token: string) => getComputedStyle(document.documentElement).getPropertyValue(token).trim();

export interface Line {
  name: string;
  values: (number | null)[]; // null where nothing is known
}
interface PlotProps {
  times: number[]; // s since 1970
  from?: number | undefined; // where the axis of times begins, and ends, if there is less to show
  to?: number | undefined;
  lines: readonly Line[]; // one, or up to four, which get a legend
  label: string; // for people who can't see the plot
  show?: (value: number) => string; // of the legend and the axis
  limit?: number; // drawn as a line
  marks?: number[]; // times at which something happened, drawn as lines
}

const last_known = (values: (number | null)[]) => values.findLast((value) => value !== null) ?? null;

// Returns where the values are that have no known neighbour: they are no part of a line, and are drawn as points.
const alone = (values: (number | null)[]) =>
  values.flatMap((value, index) =>
    value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null ? [index] : [],
  );

// Draws the limit and the marks over the lines.
function draw_extras(plot: uPlot, limit: number | undefined, marks: number[]) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.setLineDash(dashes.map((dash) => dash * devicePixelRatio));
  ctx.lineWidth = devicePixelRatio;
  const line = (colour: string, x1: number, y1: number, x2: number, y2: number) => {
    ctx.strokeStyle = colour_of(colour);
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x2, y2);
    ctx.stroke();
  };
  for (const at of marks) {
    const x = plot.valToPos(at, 'x', true);
    if (x >= bbox.left && x <= bbox.left + bbox.width) line('--soft', x, bbox.top, x, bbox.top + bbox.height);
  }
  if (limit !== undefined) {
    const y = plot.valToPos(limit, 'y', true);
    line('--bad', bbox.left, y, bbox.left + bbox.width, y);
  }
  ctx.restore();
}

function Legend({
  lines,
  times,
  at,
  show,
}: {
  lines: readonly Line[];
  times: number[];
  at: number | null;
  show: (value: number) => string;
}) {
  return (
    <div class="row tight legend-of-plot small" aria-hidden="true">
      {lines.map((line, index) => {
        const value = at === null ? last_known(line.values) : line.values[at];
        return (
          <span key={line.name}>
            <i class={`swatch c${index}`} />
            {line.name} <strong class="number">{value == null ? '–' : show(value)}</strong>
          </span>
        );
      })}
      <span class="faint">{at === null ? t.plots.latest : date_and_time(times[at]! * 1_000)}</span>
    </div>
  );
}

export function Plot({ times, from, to, lines, label, show = compact, limit, marks = [] }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const [at, point] = useState<number | null>(null);
  const with_legend = lines.length > 1 || limit !== undefined || marks.length > 0;
  useEffect(() => {
    let plot: uPlot | undefined;
    let gone = false;
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    let observer: ResizeObserver | undefined;
    const draw = async () => {
      const { default: Plotter } = await import('uplot');
      if (gone) return;
      plot?.destroy();
      const axis = {
        stroke: colour_of('--faint'),
        grid: { stroke: colour_of('--line'), width: 1 },
        ticks: { show: false },
        font: axis_font(1),
      };
      const shown_span = (to ?? times.at(-1)!) - (from ?? times[0]!);
      const paths = Plotter.paths.stepped!({ align: 1 });
      plot = new Plotter(
        {
          width: place.current!.clientWidth,
          height,
          legend: { live: false, show: false },
          cursor: { y: false },
          padding: [8, 24, 0, 0],
          scales: {
            ...(from === undefined || to === undefined ? {} : { x: { range: () => [from, to] as [number, number] } }),
            y: {
              range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, (high ?? 0) * 1.1, (limit ?? 0) * 1.05)],
            },
          },
          axes: [
            {
              ...axis,
              size: 28,
              space: 64,
              values: (_, ticks) => ticks.map((tick) => notation(shown_span)(tick * 1_000)),
            },
            {
              ...axis,
              // As wide as the longest label, so that none is cut off.
              size: (drawn, labels) => {
                drawn.ctx.font = axis_font(devicePixelRatio);
                const widest = Math.max(0, ...(labels ?? []).map((one) => drawn.ctx.measureText(one).width));
                return Math.ceil(widest / devicePixelRatio) + beside_label;
              },
              values: (_, ticks) => ticks.map((tick) => show(tick)),
            },
          ],
          series: [
            {},
            ...lines.map((line, index) => ({
              label: line.name,
              stroke: colour_of(colours[index]!),
              width: 2,
              paths,
              points: { show: true, filter: alone(line.values), size: 5 },
              ...(lines.length === 1 ? { fill: colour_of('--accent-ground') } : {}),
            })),
          ],
          hooks: {
            draw: [(drawn) => draw_extras(drawn, limit, marks)],
            ...(with_legend ? { setCursor: [(drawn) => point(drawn.cursor.idx ?? null)] } : {}),
          },
        },
        [times, ...lines.map((line) => line.values)],
        place.current!,
      );
      plot.root.querySelector('canvas')?.setAttribute('aria-hidden', 'true');
    };
    void draw();
    observer = new ResizeObserver(() => plot?.setSize({ width: place.current!.clientWidth, height }));
    observer.observe(place.current!);
    scheme.addEventListener('change', draw);
    return () => {
      gone = true;
      observer?.disconnect();
      scheme.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [times, from, to, lines, marks]);
  return (
    <>
      <div class="plot" ref={place} role="img" aria-label={label} />
      {with_legend && <Legend lines={lines} times={times} at={at} show={show} />}
    </>
  );
}
