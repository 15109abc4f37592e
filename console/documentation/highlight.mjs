// Marks the comments, texts, keywords and numbers of code for the style sheet. It knows the languages of the documents
// and samples; code in others is only escaped. Used by the build, and by the reference of the API in the browser.
export const escape = (text) =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

const words = (text) => `\\b(?:${text.trim().replace(/\s+/g, '|')})\\b`;
const double = String.raw`"(?:\\[\s\S]|[^"\\])*"`;
const single = String.raw`'(?:\\[\s\S]|[^'\\])*'`;
const back = '`(?:\\\\[\\s\\S]|[^`\\\\])*`';
const number = String.raw`\b\d[\d_]*(?:\.\d+)?\b`;
const slashes = String.raw`\/\/[^\n]*|\/\*[\s\S]*?\*\/`;

// Of each language the kinds in the order in which they are tried.
const languages = {
  sh: {
    comment: String.raw`(?<=^|\s)#[^\n]*`,
    text: `${double}|'[^']*'`,
    name: String.raw`\$\{?[\w@#?]+\}?|(?<=^|\s)[A-Z_]+(?==)`,
    word: `(?<=^|[\\s;(])(?:${'if then else elif fi for in do done while until case esac function export local return set'.split(' ').join('|')})(?=$|[\\s;)])`,
    flag: String.raw`(?<=\s)--?[a-zA-Z][\w-]*`,
  },
  python: {
    comment: String.raw`#[^\n]*`,
    text: String.raw`[rbf]?"""[\s\S]*?"""|[rbf]?${double}|[rbf]?${single}`,
    word: words(`and as assert async await break class continue def del elif else except False finally for from global if
      import in is lambda None not or pass raise return True try while with yield`),
    number,
  },
  ts: {
    comment: slashes,
    text: `${double}|${single}|${back}`,
    word: words(`as async await break case catch class const continue default else export extends false finally for from
      function if import in instanceof interface let new null of readonly return static super switch this throw true try
      type typeof undefined while`),
    number,
  },
  go: {
    comment: slashes,
    text: `${double}|${back}`,
    word: words(`break case chan const continue default defer else error false for func go if import interface map nil
      package range return select string struct switch true type var any bool byte int64`),
    number,
  },
  cs: {
    comment: slashes,
    text: `[@$]?${double}|${single}`,
    word: words(`async await bool byte case catch class default else false finally for foreach if in int long new null
      out partial private public readonly return static string switch this throw true try using var void while`),
    number,
  },
  yaml: {
    comment: String.raw`(?<=^|\s)#[^\n]*`,
    name: String.raw`(?<=^|\n|[{,])[ ]*(?:- )?[ ]*[\w./-]+(?=:(?:\s|$))`,
    text: `${double}|'[^']*'`,
    word: words('true false null yes no on off'),
    number,
  },
  json: { name: `${double}(?=\\s*:)`, text: double, word: words('true false null'), number },
  sql: {
    comment: '--[^\\n]*',
    text: "'[^']*'",
    word: words('CREATE ROLE LOGIN PASSWORD DATABASE OWNER ENCODING TEMPLATE SELECT FROM'),
  },
  dockerfile: {
    comment: '(?<=^|\\n)#[^\\n]*',
    text: double,
    word: '(?<=^|\\n)(?:FROM|RUN|COPY|ENV|EXPOSE|USER|WORKDIR|CMD|ENTRYPOINT|ARG)\\b',
  },
};
const names = { bash: 'sh', py: 'python', typescript: 'ts', javascript: 'ts', js: 'ts', csharp: 'cs', yml: 'yaml' };
const patterns = {};

// Returns HTML.
export function highlighted(code, language = '') {
  const name = names[language] ?? language;
  const kinds = languages[name];
  if (!kinds) return escape(code);
  patterns[name] ??= new RegExp(
    Object.entries(kinds)
      .map(([kind, pattern]) => `(?<${kind}>${pattern})`)
      .join('|'),
    'g',
  );
  let html = '';
  let at = 0;
  for (const match of code.matchAll(patterns[name])) {
    const kind = Object.keys(kinds).find((one) => match.groups[one] !== undefined);
    html += `${escape(code.slice(at, match.index))}<span class="c-${kind}">${escape(match[0])}</span>`;
    at = match.index + match[0].length;
  }
  return html + escape(code.slice(at));
}
