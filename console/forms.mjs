// Finds forms and inputs that are written by hand: node forms.mjs. A form of the console is a list of fields, which
// src/components/form.tsx draws. Ends with 1 if there are others.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const elements = ['form', 'fieldset', 'input', 'select', 'textarea', 'datalist'];
const in_text = new RegExp(`<(${elements.join('|')})\\b`, 'g');

// The files that may have them. The pages of the documentation don't load the console's texts.
const allowed = {
  'src/components/fields.tsx': 'each kind of field',
  'src/components/form.tsx': 'forms, filters and the search of a list',
  'src/components/variables.tsx': 'the rows of one kind of field',
  'documentation/reference.tsx': 'a filter',
  'documentation/samples.mjs': 'tabs that need no script',
  'documentation/search.ts': 'the search',
  'documentation/try.tsx': 'a form that is a list of the parameters of the published document',
};

// Returns the elements as `line: <name>`: in JSX, by createElement or h, and in HTML that is a text.
export function inputs_in(source) {
  const file = ts.createSourceFile('a.tsx', source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found = [];
  const add = (node, name) => found.push(`${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: <${name}>`);
  const visit = (node) => {
    if (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) {
      const name = node.tagName.getText();
      if (elements.includes(name)) add(node, name);
      if (node.attributes.properties.some((one) => /^contenteditable$/i.test(one.name?.getText() ?? '')))
        add(node, `${name} contenteditable`);
    } else if (ts.isCallExpression(node) && /(^|\.)(h|createElement)$/.test(node.expression.getText())) {
      const [name] = node.arguments;
      if (name && ts.isStringLiteralLike(name) && elements.includes(name.text)) add(node, name.text);
    } else if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      for (const [, name] of node.text.matchAll(in_text)) add(node, name);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const here = dirname(fileURLToPath(import.meta.url));
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = ['src', 'documentation'].flatMap((folder) =>
    readdirSync(join(here, folder), { recursive: true })
      .filter((name) => /\.(tsx?|mjs)$/.test(name) && !/\.d\.ts$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
  const found = Object.fromEntries(files.map((name) => [name, inputs_in(readFileSync(join(here, name), 'utf8'))]));
  const wrong = files.filter((name) => !allowed[name]).flatMap((name) => found[name].map((one) => `${name}:${one}`));
  const needless = Object.keys(allowed).filter((name) => !found[name]?.length);
  for (const one of wrong) console.error(`console/${one}: a form is a list of fields (src/components/form.tsx)`);
  for (const name of needless) console.error(`console/${name}: has no inputs, so forms.mjs needn't allow them`);
  console.log(`console: ${files.length} files, ${wrong.length} forms or inputs written by hand`);
  process.exit(wrong.length + needless.length ? 1 : 0);
}
