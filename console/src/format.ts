// Numbers, sizes and times as the reader writes them.
import { locale } from './messages/language';

const numbers = new Intl.NumberFormat(locale);
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
// One clock of 24 hours for everything: logs, plots, and the exact times of dates.
const hourCycle = 'h23';
const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', hourCycle });
const moment_short = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', hourCycle });
const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle });
const minutes = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle });
const short = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });
const ago = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

const second = 1_000,
  minute = 60 * second,
  hour = 60 * minute,
  a_day = 24 * hour;

export const number = (value: number) => numbers.format(value);
export const count = (n: number, one: string, many: string) => `${number(n)} ${n === 1 ? one : many}`; // "3 lines"
const short_numbers = new Intl.NumberFormat(locale, { notation: 'compact' });
export const compact = (value: number) => short_numbers.format(value); // 250M
export const signed = (value: number) => (value > 0 ? `+${number(value)}` : number(value).replace('-', '−'));
export const date = (iso: string) => day.format(new Date(iso));
const utc_day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
export const day_name = (date: string) => utc_day.format(new Date(date)); // of a day as YYYY-MM-DD in UTC
export const exact = (iso: string) => moment.format(new Date(iso));
export const clock_time = (at: number) => minutes.format(at);
export const short_date = (at: number) => short.format(at);
export const date_and_time = (at: number) => moment_short.format(at);
export const time_of_day = (iso: string | number) => clock.format(new Date(iso));

// "in 3 days", "2 minutes ago", and the date if that is further away than a month.
export function relative(iso: string, now = Date.now()): string {
  const away = Date.parse(iso) - now;
  const size = Math.abs(away);
  if (size < 45 * second) return ago.format(0, 'second');
  if (size < hour) return ago.format(Math.round(away / minute), 'minute');
  if (size < a_day) return ago.format(Math.round(away / hour), 'hour');
  if (size < 30 * a_day) return ago.format(Math.round(away / a_day), 'day');
  return date(iso);
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${number(Math.round(seconds * 10) / 10)} s`;
  return `${number(Math.round(seconds / 60))} min`;
}

export function mebibytes(bytes: number): string {
  const size = bytes / 1_048_576;
  return number(size < 10 ? Math.round(size * 10) / 10 : Math.round(size));
}

export const memory = (mb: number) => (mb % 1024 === 0 ? `${number(mb / 1024)} GB` : `${number(mb)} MB`);
export const cpu = (millicores: number) => number(millicores / 1000);

// The program and the system that a User-Agent names, as people call them.
export function device(user_agent: string): string {
  const programs: [RegExp, string][] = [
    [/Edg\//, 'Edge'],
    [/OPR\//, 'Opera'],
    [/Firefox\//, 'Firefox'],
    [/Chrom(e|ium)\//, 'Chrome'],
    [/Safari\//, 'Safari'],
    [/^curl\//, 'curl'],
    [/^berth\b/, 'berth'],
  ];
  const systems: [RegExp, string][] = [
    [/Android/, 'Android'],
    [/iPhone|iPad/, 'iOS'],
    [/Mac OS X/, 'macOS'],
    [/Windows/, 'Windows'],
    [/Linux|X11/, 'Linux'],
  ];
  const name = (of: [RegExp, string][]) => of.find(([pattern]) => pattern.test(user_agent))?.[1];
  return [name(programs) ?? user_agent.split(/[ /]/)[0], name(systems)].filter(Boolean).join(', ');
}

const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
export const share = (part: number) => percent.format(part); // of 1
