// What the log of a deployment says about its rollouts: which line of the history each entry belongs to, what a rollout
// changed, and where a rollback leads.
import type { Answer } from '../api';

export type Entry = Answer<'get', '/api/deploy/apps/{id}/logs'>['logs'][number];

// A difference between what was wanted before and after a change.
export interface Difference {
  field: string;
  from?: unknown;
  to?: unknown;
  added?: string[];
  changed?: string[];
  removed?: string[];
}
export interface Details {
  generation?: number;
  to_generation?: number;
  kind?: string;
  domain?: string;
  state?: string;
  fields?: string[];
  changes?: Difference[];
  tier?: { from: string; to: string; amount: number } | string;
  image?: string;
  duration_seconds?: number;
  reason?: string;
  cause?: string;
  message?: string;
  from?: number; // of kind scale: containers before and after
  to?: number;
}
export const details_of = (entry: Entry) => (entry.details ?? {}) as Details;

// A line of the history: a rollout with its beginning and its end, or something else that happened.
export interface Line {
  entry: Entry; // the newest of the line's entries
  details: Details; // of all of them
  is_rollout: boolean;
  overtaken: boolean; // a rollout that had not ended when the next one began
}

const begins_rollout = ({ action, status }: Entry) =>
  action === 'create' || action === 'restart' || (action === 'deploy' && status === 'started');

function with_tier(details: Details): Details {
  const { tier } = details;
  if (typeof tier !== 'object') return details;
  return { ...details, changes: [...(details.changes ?? []), { field: 'tier', from: tier.from, to: tier.to }] };
}

// Returns the lines, newest first. `entries` may be in any order.
export function lines_of(entries: Entry[]): Line[] {
  const lines: Line[] = [];
  const open = new Map<number, Line>(); // rollouts that haven't ended, by their generations
  for (const entry of entries.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const details = with_tier(details_of(entry));
    const { generation, kind } = details;
    const known = generation === undefined ? undefined : open.get(generation);
    if (known && (begins_rollout(entry) || kind)) {
      known.details = { ...known.details, ...details, kind: known.details.kind ?? kind ?? '' };
      known.entry = entry;
      if (!begins_rollout(entry)) open.delete(generation!);
      continue;
    }
    const is_rollout = generation !== undefined && (begins_rollout(entry) || !!kind);
    const line: Line = { entry, details, is_rollout, overtaken: false };
    if (is_rollout) {
      if (!details.kind) line.details = { ...details, kind: entry.action };
      for (const before of open.values()) before.overtaken = true;
      open.clear();
      if (begins_rollout(entry)) open.set(generation, line);
    }
    lines.push(line);
  }
  return lines.reverse();
}

const kept = 10; // rollouts that ran and can be returned to (deployments/revisions.h)

// A change of the app's variables: the deployment's own settings stay as they are, so a rollback neither leads there nor
// undoes it.
const is_of_app = (line: Line) => line.details.kind === 'app_variables';

// The rollouts that ran, newest first.
const ran = (lines: Line[]) =>
  lines.filter((line) => line.is_rollout && line.entry.status === 'succeeded' && line.entry.action === 'deploy');

export interface Target {
  line: Line;
  undone: Difference[]; // what the rollouts since then have changed
}

// What is known of the rollouts: the newest one, the one whose container serves, and those that can be returned to.
export function rollouts_in(entries: Entry[]): {
  newest: Line | null;
  serving: Line | null;
  targets: Line[];
  previous: Target | null; // that a rollback leads to
} {
  const lines = lines_of(entries);
  const all = lines.filter((line) => line.is_rollout);
  const [newest = null] = all;
  const good = ran(lines);
  const serving = good[0] ?? null;
  const newest_of_own = all.find((line) => !is_of_app(line));
  const targets = good
    .filter((line) => !is_of_app(line))
    .slice(0, kept)
    .filter((line) => line !== newest_of_own);
  // Which rollout first ran the same settings: a restart and a change of the app's variables run those of the rollout
  // before it, a rollback those that it went back to.
  const origin = new Map<number, number>();
  let before: number | undefined;
  for (const { details } of all.toReversed()) {
    const generation = details.generation!;
    const same =
      details.kind === 'restart' || details.kind === 'app_variables'
        ? before
        : details.kind === 'rollback'
          ? origin.get(details.to_generation ?? -1)
          : undefined;
    origin.set(generation, same ?? generation);
    before = same ?? generation;
  }
  const of = (line: Line) => origin.get(line.details.generation!);
  const to = targets.find((line) => newest && of(line) !== of(newest)) ?? null;
  return { newest, serving, targets, previous: to && { line: to, undone: undone_since(all, to) } };
}

export const undone_since = (all: Line[], to: Line): Difference[] =>
  all
    .slice(0, Math.max(0, all.indexOf(to)))
    .filter((line) => !is_of_app(line))
    .flatMap((line) => line.details.changes ?? []);

// When rollouts ended, in seconds since 1970.
export const rollouts_of = (entries: Entry[]) =>
  lines_of(entries)
    .filter((line) => line.is_rollout && line.entry.action === 'deploy' && line.entry.status !== 'started')
    .map((line) => Date.parse(line.entry.inserted_at) / 1_000)
    .reverse();

// The end of an image's name, by which people know it: web:1.2, or web@sha256:0123456789ab.
export const short_image = (image: string) =>
  (image.split('/').at(-1) ?? image)
    .replace(/(@sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1')
    .replace(/(:[^@:]+)@sha256:[0-9a-f]+$/, '$1');
