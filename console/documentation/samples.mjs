// Parts of the programs in examples/, which the documents show side by side in several languages. A part lies between two
// lines that say [NAME] and [/NAME] in a comment.
import { extname } from 'node:path';
import { escape, highlighted } from './highlight.mjs';

const languages = { '.ts': 'ts', '.py': 'python', '.go': 'go', '.cs': 'cs', '.sh': 'sh' };

// Returns the language of a sample's file; nothing of other files.
export const language_of = (path) => (path.startsWith('examples/') ? languages[extname(path)] : undefined);

export function part_of(text, name) {
  const lines = text.split('\n');
  const at = (mark) => lines.findIndex((line) => line.replace(/^[/#\s]+/, '') === mark);
  const [begin, end] = [at(`[${name}]`), at(`[/${name}]`)];
  if (begin < 0 || end < begin) throw new Error(`a sample has no lines [${name}] and [/${name}]`);
  return lines
    .slice(begin + 1, end)
    .join('\n')
    .trim();
}

// Tabs that need no script: a radio button shows the code behind it.
export function tabs(parts, id) {
  const heads = parts.map(
    ({ name }, i) =>
      `<input type="radio" name="${id}" id="${id}-${i}" value="${escape(name)}"${i === 0 ? ' checked' : ''}><label for="${id}-${i}">${escape(name)}</label>\n`,
  );
  const codes = parts.map(
    ({ code, language }) => `<div class="panel"><pre><code>${highlighted(code, language)}</code></pre></div>\n`,
  );
  return `<fieldset class="tabs"><legend class="unseen">Language</legend>\n${heads.join('')}${codes.join('')}</fieldset>\n`;
}
