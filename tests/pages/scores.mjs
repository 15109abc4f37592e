// What Lighthouse says of a page: its scores, and what costs them.
import lighthouse, { desktopConfig } from 'lighthouse';
import { computeMedianRun } from 'lighthouse/core/lib/median-run.js';

const longest_load = 20_000; // ms; Lighthouse waits so long for pages whose network is never quiet, because of their streams
const runs = 3; // of each page; the one in the middle counts, because single ones vary
const good = 0.9; // below it, an audit is named

export const forms = { desktop: desktopConfig, telephone: undefined };

// Looks at the page in the browser that listens for debuggers on this port, with its cookies. `findings` are lines.
export async function scores_of(address, form, port) {
  const flags = { port, output: 'json', logLevel: 'error', disableStorageReset: true, maxWaitForLoad: longest_load };
  const results = [];
  while (results.length < runs) results.push((await lighthouse(address, flags, forms[form])).lhr);
  const lhr = computeMedianRun(results);
  const categories = Object.values(lhr.categories);
  const findings = categories.flatMap(({ id: category, auditRefs }) => auditRefs
    .filter(({ id, weight }) => weight > 0 && lhr.audits[id].score !== null && lhr.audits[id].score < good)
    .map(({ id }) => `${category}: ${id}: ${lhr.audits[id].displayValue ?? lhr.audits[id].title}`));
  return { scores: categories.map(({ title, score }) => [title, Math.round(score * 100)]), findings };
}
