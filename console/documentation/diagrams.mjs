// Mermaid's diagrams as pictures, and in words, a sentence for each arrow. Graphviz draws flowcharts and states; sequences
// need no more than columns and rows. It knows the parts of Mermaid that the documents use.
import { spawnSync } from 'node:child_process';
import { escape } from './highlight.mjs';

// What stands in italics behind a name explains it; it is left out of the words.
const words = (text) =>
  text
    .split(/<br\s*\/?><i>/)[0]
    .replace(/<br\s*\/?>/g, ' ')
    .replace(/<[^>]*>/g, '')
    .replace(/"/g, '')
    .trim();

// Reads a diagram: its kind, its nodes by name, its arrows, and the boxes around nodes.
function read(diagram) {
  const [first, ...lines] = diagram.trim().split('\n');
  const kind = first.startsWith('sequence') ? 'sequence' : first.startsWith('state') ? 'state' : 'flow';
  const nodes = new Map(); // name -> {label, shape, box}
  const steps = []; // {from, to, label, dashed}, or {note, over}
  const boxes = [];
  const open = [];
  // "api[HTTP API]" names a node, and gives it a label that may also come later.
  const named = (text) => {
    const [, name, start, label] = /^([\w*[\]]+?)(\(\[|\[\(|\[|\()"?(.*?)"?[\])]+$/.exec(text.trim()) ?? [
      null,
      text.trim(),
    ];
    const known = nodes.get(name) ?? { label: name, shape: 'box' };
    known.box ??= open.at(-1);
    if (label) Object.assign(known, { label, shape: { '([': 'person', '[(': 'store' }[start] ?? 'box' });
    nodes.set(name, known);
    return name;
  };
  for (const line of lines.map((one) => one.trim()).filter(Boolean)) {
    const declared = /^(?:participant|actor) (\w+) as (.+)$/.exec(line);
    const message = /^(\w+)-(-?)>>(\w+): (.+)$/.exec(line);
    const note = /^Note over (\w+): (.+)$/.exec(line);
    const box = /^subgraph (\w+)(?:\["?(.*?)"?\])?$/.exec(line);
    const labelled = /^(.+?) -- (.+?) --> (.+)$/.exec(line) ?? /^(.+?) -\. (.+?) \.-> (.+)$/.exec(line);
    if (declared) nodes.set(declared[1], { label: declared[2], shape: 'box' });
    else if (message) steps.push({ from: message[1], to: message[3], label: message[4], dashed: message[2] !== '' });
    else if (note) steps.push({ note: note[2], over: note[1] });
    else if (box) {
      const one = { label: box[2] ?? box[1], inside: open.at(-1) };
      boxes.push(one);
      open.push(one);
    } else if (line === 'end') open.pop();
    else if (labelled) {
      const [from, ...path] = [labelled[1], ...labelled[3].split(/\s+-->\s+/)].map(named);
      path.forEach((to, i) =>
        steps.push({
          from: i ? path[i - 1] : from,
          to,
          label: i ? '' : labelled[2].replace(/"/g, ''),
          dashed: line.includes('.->'),
        }),
      );
    } else if (line.includes('-->')) {
      const [path, label] = kind === 'state' ? line.split(': ') : [line];
      const all = path.split(/\s+-->\s+/).map(named);
      all.slice(1).forEach((to, before) => steps.push({ from: all[before], to, label: label ?? '', dashed: false }));
    } else named(line);
  }
  return { kind, across: / (?:LR|RL)$/.test(first), nodes, steps, boxes };
}

export function in_words(diagram) {
  const { kind, nodes, steps } = read(diagram);
  const label_of = (name) =>
    name === '[*]' ? (kind === 'state' ? 'the beginning or end' : '') : words(nodes.get(name)?.label ?? name);
  return steps
    .filter(({ note }) => !note)
    .map(({ from, to, label }) => `${label_of(from)} ${label ? `— ${words(label)} ` : ''}→ ${label_of(to)}`);
}

const small = '\u200b';
const parts = (label) => {
  const [name, more] = label.split(/<br\s*\/?><i>/);
  const lines = (text) => text.replace(/<\/?i>/g, '').split(/<br\s*\/?>/);
  return { lines: lines(name), more: more ? lines(more) : [] };
};

function dot_source({ kind, across, nodes, steps, boxes }) {
  // A line of an explanation is marked, so that it can be made small afterwards.
  const text = (label) => {
    const { lines, more } = parts(label);
    return JSON.stringify([...lines, ...more.map((one) => small + one)].join('\n'));
  };
  const shapes = {
    person: 'shape=box style=rounded class=person',
    store: 'shape=cylinder class=store',
    box: 'shape=box',
  };
  const quoted = (name) => `"${name}"`;
  const of_box = (box) => {
    const own = [...nodes]
      .filter(([name, node]) => node.box === box && name !== '[*]')
      .map(([name, { label, shape }]) => `${quoted(name)} [label=${text(label)} ${shapes[shape]}];`);
    const inner = boxes
      .filter(({ inside }) => inside === box)
      .map((one) => `subgraph cluster_${boxes.indexOf(one)} { label=${text(one.label)}; ${of_box(one)} }`);
    return [...own, ...inner].join('\n');
  };
  // The beginning and the end of a state are two nodes.
  const ends =
    kind === 'state'
      ? 'begin [shape=point width=.14 class=point]; end [shape=doublecircle label="" width=.1 class=point];'
      : '';
  const at = (name, other) => (name === '[*]' ? other : quoted(name));
  const arrows = steps.map(
    ({ from, to, label, dashed }) =>
      `${at(from, 'begin')} -> ${at(to, 'end')} [label=${text(label)}${dashed ? ' style=dashed' : ''}];`,
  );
  return `digraph { rankdir=${across ? 'LR' : 'TB'}; bgcolor=transparent; pad=.1; nodesep=.35; ranksep=.45; fontname="Helvetica";
    fontsize=12; node [fontname="Helvetica" fontsize=13 margin=".16,.09"]; edge [fontname="Helvetica" fontsize=12 arrowsize=.7];
    ${ends} ${of_box(undefined)} ${arrows.join('\n')} }`;
}

const column = 190;
const row = 42;
function sequence({ nodes, steps }) {
  const names = [...nodes.keys()];
  const x = (name) => column / 2 + column * names.indexOf(name);
  const [width, height] = [column * names.length, row * (steps.length + 2)];
  const text = (at, y, content, more = '') =>
    `<text x="${at}" y="${y}" text-anchor="middle"${more}>${escape(content)}</text>`;
  const box = (at, y, wide, content, kind) =>
    `<g class="${kind}"><rect x="${at - wide / 2}" y="${y - 15}" width="${wide}" height="30" rx="5"/>${text(at, y + 5, content)}</g>`;
  const lines = names.map(
    (name) => `<line class="life" x1="${x(name)}" y1="${row}" x2="${x(name)}" y2="${height - 8}"/>`,
  );
  const heads = names.map((name) => box(x(name), row / 2 + 4, column - 16, nodes.get(name).label, 'node'));
  const drawn = steps.map(({ from, to, label, dashed, note, over }, i) => {
    const y = row * (i + 1.9);
    if (note) return box(x(over), y, note.length * 7 + 24, note, 'note');
    const [a, b] = [x(from), x(to)];
    const way = Math.sign(b - a);
    return `<g class="edge${dashed ? ' dashed' : ''}"><line x1="${a}" y1="${y}" x2="${b - 7 * way}" y2="${y}"/><polygon points="${b},${y} ${b - 9 * way},${y - 4.5} ${b - 9 * way},${y + 4.5}"/>${text((a + b) / 2, y - 7, label)}</g>`;
  });
  return `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${[...lines, ...heads, ...drawn].join('')}</svg>`;
}

const widest = 860; // what fits beside the menu without being made small

let complained = false;
function drawn_by_dot(what) {
  const made = spawnSync('dot', ['-Tsvg'], { input: dot_source(what), encoding: 'utf8' });
  if (made.error?.code === 'ENOENT') {
    if (!complained)
      console.error('warning: the documentation has no diagrams, because Graphviz (dot) isn’t installed');
    complained = true;
    return null;
  }
  if (made.status !== 0) throw new Error(`dot: ${made.stderr}\n${dot_source(what)}`);
  return made.stdout
    .replace(/^[\s\S]*?(?=<svg)/, '')
    .replace(/<!--[\s\S]*?-->\n?/g, '')
    .replace(/<title>[\s\S]*?<\/title>\n?/g, '')
    .replace(/ (?:id|xmlns(?::xlink)?|font-family|font-size)="[^"]*"/g, '')
    .replace(new RegExp(`<text([^>]*)>(?:${small}|&#8203;)`, 'g'), '<text class="small"$1>')
    .replace(/(width|height)="([\d.]+)pt"/g, (_, side, size) => `${side}="${Math.round((size * 4) / 3)}"`)
    .trim();
}

// Returns the picture as SVG, whose colours the style sheet says; null without Graphviz.
export function drawn(diagram) {
  const what = read(diagram);
  if (what.kind === 'sequence') return sequence(what);
  const svg = drawn_by_dot(what);
  const too_wide = svg && what.across && Number(/width="(\d+)"/.exec(svg)[1]) > widest;
  return too_wide ? drawn_by_dot({ ...what, across: false }) : svg;
}
