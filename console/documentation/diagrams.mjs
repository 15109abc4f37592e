// Mermaid's diagrams in words, a sentence for each arrow: drawing them needs a browser, which the build doesn't have.
// Knows the arrows of flowcharts, sequences and states. What stands in italics behind a name explains it, and is left
// out.
const words = (text) =>
  text
    .split(/<br\s*\/?><i>/)[0]
    .replace(/<br\s*\/?>/g, ' ')
    .replace(/<[^>]*>/g, '')
    .replace(/"/g, '')
    .trim();

export function in_words(diagram) {
  const [kind, ...lines] = diagram.split('\n');
  const labels = new Map([['[*]', kind.startsWith('state') ? 'the beginning or end' : '']]);
  // "api[HTTP API]" names a node, and gives it a label that may also come later.
  const named = (text) => {
    const [, id, label] = /^(\w+)[[({]+(.*?)[\])}]+$/.exec(text.trim()) ?? [null, text.trim()];
    if (label) labels.set(id, words(label));
    return id;
  };
  const arrows = [];
  for (const line of lines.map((one) => one.trim())) {
    const declared = /^(?:participant|actor) (\w+) as (.+)$/.exec(line);
    const message = /^(\w+)--?>>(\w+): (.+)$/.exec(line);
    const labelled = /^(.+?) -- (.+?) --> (.+)$/.exec(line);
    if (declared) labels.set(declared[1], words(declared[2]));
    else if (message) arrows.push([message[1], message[2], message[3]]);
    else if (labelled) arrows.push([named(labelled[1]), named(labelled[3]), labelled[2]]);
    else if (line.includes('-->')) {
      const [path, label] = kind.startsWith('state') ? line.split(': ') : [line];
      const nodes = path.split(/\s+-->\s+/).map(named);
      nodes.slice(1).forEach((to, before) => arrows.push([nodes[before], to, label]));
    } else named(line);
  }
  const label_of = (id) => labels.get(id) || id;
  return arrows.map(([from, to, label]) => `${label_of(from)} ${label ? `— ${words(label)} ` : ''}→ ${label_of(to)}`);
}
