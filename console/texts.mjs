// Finds texts for people in the console's sources that don't come from src/messages: node texts.mjs. Ends with 1 if
// there are any.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

// What is the same in all languages: names, addresses, commands.
const names = new Set(['berth', 'NAME', 'DE', 'DE, AT']);
const is_literal = /^(https?:\/\/\S+|www\.\S+|\/\S+|berth admin .*|LOG_LEVEL=.*|ghcr\.io\/\S+)$/s;
const shown_attributes = new Set([
  'label',
  'title',
  'placeholder',
  'alt',
  'text',
  'action',
  'hint',
  'name',
  'aria-label',
  'aria-description',
]);
const words_of = (text) => text.replace(/^[^\p{L}/]+|[^\p{L}\p{N}"]+$/gu, '').replace(/^\/ /, '');
const has_words = (text) => /\p{L}{2,}/u.test(text) && !names.has(words_of(text)) && !is_literal.test(text.trim());
const is_sentence = (text) => /^\p{Lu}\p{L}*[ ,]+\p{L}/u.test(text) || /\p{L} \p{L}+ \p{L}/u.test(text);

// Attributes that are shown only for components: <input name> is no text.
const is_shown = (attribute) => {
  const of = attribute.parent.parent.tagName.getText();
  return (
    shown_attributes.has(attribute.name.getText()) && (attribute.name.getText() !== 'name' || !/^(Icon|[a-z])/.test(of))
  );
};
// Class names, and what is compared or imported, aren't shown.
const is_hidden = (node) => {
  for (let at = node.parent; at && !ts.isStatement(at); at = at.parent) {
    if (ts.isJsxAttribute(at)) return !is_shown(at);
    if (
      ts.isCallExpression(at) &&
      /(classes|querySelector|querySelectorAll|matches|matchMedia|RegExp|define)$/.test(at.expression.getText())
    )
      return true;
  }
  return ts.isImportDeclaration(node.parent) || ts.isLiteralTypeNode(node.parent);
};

const passes_on = (node) =>
  ts.isConditionalExpression(node) ||
  ts.isBinaryExpression(node) ||
  ts.isParenthesizedExpression(node) ||
  ts.isTemplateExpression(node) ||
  ts.isTemplateSpan(node);
// The part of the page or of an object that a text becomes, if it does.
function place_of(node) {
  let at = node.parent;
  while (passes_on(at) && !(ts.isConditionalExpression(at) && at.condition === node) && !is_comparison(at))
    at = at.parent;
  return at;
}
const is_comparison = (node) => ts.isBinaryExpression(node) && /[=!<>]=/.test(node.operatorToken.getText());

// Returns the texts as `line: text`.
export function texts_in(source) {
  const file = ts.createSourceFile('a.tsx', source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found = [];
  const add = (node, text) =>
    found.push(`${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${text.trim()}`);
  const visit = (node) => {
    if (ts.isJsxText(node) && has_words(node.text)) add(node, node.text);
    else if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      const place = place_of(node);
      const in_markup = ts.isJsxExpression(place) && !ts.isJsxAttribute(place.parent);
      const attribute = ts.isJsxExpression(place) ? place.parent : place;
      const as_attribute =
        (ts.isJsxAttribute(attribute) && is_shown(attribute)) ||
        (ts.isPropertyAssignment(place) &&
          shown_attributes.has(place.name.getText()) &&
          place.name.getText() !== 'name');
      if (!is_hidden(node) && has_words(node.text) && (in_markup || as_attribute || is_sentence(node.text)))
        add(node, node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const here = dirname(fileURLToPath(import.meta.url));
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = readdirSync(join(here, 'src'), { recursive: true }).filter(
    (name) => /\.tsx?$/.test(name) && !/^(messages|generated)\//.test(name),
  );
  const found = files.flatMap((name) =>
    texts_in(readFileSync(join(here, 'src', name), 'utf8')).map((text) => `console/src/${name}:${text}`),
  );
  for (const text of found) console.error(text);
  if (found.length) console.error('these texts belong into console/src/messages');
  process.exit(found.length ? 1 : 0);
}
