// The words of the search: their forms, words for the same thing, and typing errors.

// People call things by the names that they know from elsewhere.
export const same_things = [
  'deploy deployment launch release ship',
  'container instance pod replica',
  'domain dns hostname cname host subdomain',
  'certificate tls ssl https',
  'log output stdout stderr',
  'variable env environment envvar configuration config setting',
  'secret password credential key',
  'rollback revert undo restore',
  'backup snapshot dump restore',
  'upgrade update migrate version',
  'delete remove destroy rm',
  'login signin auth authenticate authentication oauth sso',
  'register signup account',
  'points money balance credits coins price cost billing invoice pay payment',
  'totp mfa 2fa authenticator factor',
  'kubernetes k8s cluster',
  'helm chart',
  'postgres postgresql database sqlite db',
  'ci github gitlab actions pipeline',
  'webhook hook callback notification event',
  'error failed fail failure broken crash problem troubleshooting trouble',
  'ad ads campaign advertisement advertising banner',
  'docker podman image',
  'scale resize tier plan size',
  'limit quota cap ratelimit',
  'metric monitoring prometheus grafana graph',
  'install setup download',
  'client cli command terminal',
  'token apikey jwt bearer',
  'admin administrator moderator',
  'player user customer',
  'faq question answer',
  'compare comparison versus heroku railway render fly',
].map((line) => line.split(' '));

// The singular of an English word, roughly: the same for both is enough.
export function stem(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(?:ss|sh|ch|x)es$/.test(word)) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith('s') && !word.endsWith('ss')) return word.slice(0, -1);
  if (word.length > 5 && word.endsWith('ing')) return word.slice(0, -3).replace(/(.)\1$/, '$1');
  if (word.length > 4 && word.endsWith('ed')) return word.slice(0, -2).replace(/(.)\1$/, '$1');
  return word;
}
export const forms = (word: string): string[] => [...new Set([word, stem(word)])];

export const words_of = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

// The number of letters to insert, leave out, replace or swap, or `limit` + 1 if it is above the limit.
export function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const row = [i];
    for (let j = 1; j <= b.length; ++j) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
    if (Math.min(...row) > limit) return limit + 1;
    [before, last] = [last, row];
  }
  return last[b.length]!;
}

// What a word that somebody typed may stand for among the words that there are, and how sure that is.
export function fits_of(typed: string, vocabulary: string[]): Map<string, number> {
  const found = new Map<string, number>();
  const add = (word: string, sure: number) => found.set(word, Math.max(sure, found.get(word) ?? 0));
  const own = forms(typed);
  for (const word of vocabulary) {
    if (own.includes(word)) add(word, 1);
    else if (typed.length > 1 && word.startsWith(typed)) add(word, 0.7);
    // Code has words that are put together: a part of one is found, too.
    else if (typed.length > 3 && word.includes(typed)) add(word, 0.4);
  }
  for (const group of same_things)
    if (group.some((one) => own.includes(one) || own.includes(stem(one))))
      for (const one of group) for (const form of forms(one)) add(form, 0.5);
  const exact = [...found.values()].some((sure) => sure >= 0.7);
  const errors = typed.length > 7 ? 2 : typed.length > 3 ? 1 : 0;
  if (!exact && errors > 0)
    for (const word of vocabulary) {
      const apart = distance(typed, word, errors);
      if (apart <= errors) add(word, 0.6 - 0.1 * apart);
    }
  return found;
}
