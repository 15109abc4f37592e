// Builds the console: node build.mjs OUT. OUT/files gets index.html and what it loads, each of these with a hash of its
// content in its name, and beside each file its forms for gzip and brotli; OUT/documentation gets the documentation.
// OUT/files.cpp compiles them into berthd.
// Ends with an error if what the browser needs for the first view is larger than `first_view_limit`.
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, parse, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { documentation } from './documentation/pages.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, 'dist'));
const files = join(out, 'files');
const pages = join(out, 'documentation');
const public_path = '/console/assets/';
const documentation_path = '/docs/assets/';
const first_view_limit = 100_000; // bytes, gzipped

for (const folder of [files, pages]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}
const options = {
  absWorkingDir: here,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  loader: { '.svg': 'file' },
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
};
const name_of = (path) => path.split('/').at(-1);
// The worker that the tabs share is built first, because the console has its address.
const { metafile: of_hub } = await build({
  ...options,
  splitting: false,
  format: 'iife',
  entryPoints: { hub: 'src/hub.ts' },
  outdir: files,
});
const hub = name_of(Object.keys(of_hub.outputs)[0]);
const { metafile } = await build({
  ...options,
  define: { HUB: JSON.stringify(public_path + hub) },
  entryPoints: { begin: 'src/begin.ts', console: 'src/main.tsx', styles: 'styles/console.css' },
  outdir: files,
  publicPath: public_path,
});

const outputs_of = (built) =>
  Object.entries(built.outputs).map(([path, output]) => ({ name: name_of(path), ...output }));
const outputs = outputs_of(metafile);
const entry = (source, of = outputs) => of.find((output) => output.entryPoint === source);
const main = entry('src/main.tsx');
const begin = entry('src/begin.ts');
const style = entry('styles/console.css');
const imported_by = (...all) =>
  all.flatMap((output) => output.imports.filter((i) => i.kind === 'import-statement').map((i) => name_of(i.path)));
const eager = [...new Set(imported_by(begin, main))].filter((name) => name !== begin.name);

// The licences of the packages that are in the bundle demand that their text goes with it.
const packages = new Set(
  Object.values(metafile.outputs)
    .flatMap((output) => Object.keys(output.inputs))
    .map((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1])
    .filter(Boolean),
);
const notices = [...packages]
  .sort()
  .map((name) => {
    const folder = join(here, 'node_modules', name);
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : ''}\n`;
  })
  .join(`\n${'-'.repeat(80)}\n\n`);
const notices_name = `licences-${createHash('sha256').update(notices).digest('hex').slice(0, 8)}.txt`;
writeFileSync(join(files, notices_name), notices);

const html = readFileSync(join(here, 'src/index.html'), 'utf8')
  .replace('%LICENCES%', public_path + notices_name)
  .replace('%STYLE%', public_path + style.name)
  .replace('%BEGIN%', public_path + begin.name)
  .replace('%SCRIPT%', public_path + main.name)
  .replace('%PRELOAD%', eager.map((name) => `<link rel="modulepreload" href="${public_path}${name}">`).join('\n'));
writeFileSync(join(files, 'index.html'), html);

// The documentation: its pages, the index of the search, and what they load.
const short_hash = (text) => createHash('sha256').update(text).digest('hex').slice(0, 8);
const read = documentation((path) => {
  const content = readFileSync(join(here, '..', path));
  const { name, ext } = parse(path);
  const asset_name = `${name}-${short_hash(content)}${ext}`;
  mkdirSync(join(pages, 'assets'), { recursive: true });
  writeFileSync(join(pages, 'assets', asset_name), content);
  return documentation_path + asset_name;
});
const index = JSON.stringify(read.index);
const index_name = `index-${short_hash(index)}.json`;
const { metafile: built } = await build({
  ...options,
  entryPoints: {
    docs: 'documentation/documentation.css',
    page: 'documentation/page.ts',
    reference: 'documentation/reference.tsx',
  },
  define: { INDEX: JSON.stringify(documentation_path + index_name) },
  outdir: join(pages, 'assets'),
  publicPath: documentation_path,
});
writeFileSync(join(pages, 'assets', index_name), index);
const asset = (source) => documentation_path + entry(source, outputs_of(built)).name;
const html_pages = read.html({
  style: asset('documentation/documentation.css'),
  script: asset('documentation/page.ts'),
  reference: asset('documentation/reference.tsx'),
});
for (const [address, page] of html_pages) {
  const file = join(pages, `${address || 'index'}.html`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, page);
}

const types = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  json: 'application/json',
  png: 'image/png',
};
for (const sample of ['ts', 'py', 'go', 'cs', 'sh']) types[sample] = types.txt;
const is_compressed = (name) => name.endsWith('.png');
// The assembler takes the bytes from the files, because a C++ literal can't hold all of them.
const bytes = (path, symbol) => `__asm__(R"(
.section .rodata
.global ${symbol}
.global ${symbol}_end
${symbol}:
.incbin "${path}"
${symbol}_end:
.byte 0
.text
)");
extern "C" const char ${symbol}[], ${symbol}_end[];
`;

// Writes the forms for gzip and brotli beside each file of the folder, but for pictures. Returns the C++ source of the
// function that returns the files, and their sizes in bytes, gzipped.
function embedded(folder, name_of_function) {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => relative(folder, join(one.parentPath, one.name)))
    .sort();
  let symbols_of_files = '';
  let table = '';
  const gzipped = {};
  names.forEach((name, number) => {
    const content = readFileSync(join(folder, name));
    if (is_compressed(name)) {
      const symbol = `berth_${name_of_function}_${number}`;
      symbols_of_files += bytes(join(folder, name), symbol);
      table += `      {"${name}", "${types[name.split('.').at(-1)]}", {${symbol}, size_t(${symbol}_end - ${symbol})}, {}, {}},\n`;
      return;
    }
    const gzip = gzipSync(content, { level: 9 });
    gzipped[name] = gzip.length;
    writeFileSync(join(folder, `${name}.gz`), gzip);
    const brotli = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content, { params: brotli }));
    const symbols = ['', '.gz', '.br'].map((ending, form) => {
      const symbol = `berth_${name_of_function}_${number}_${form}`;
      symbols_of_files += bytes(join(folder, name + ending), symbol);
      return `{${symbol}, size_t(${symbol}_end - ${symbol})}`;
    });
    table += `      {"${name}", "${types[name.split('.').at(-1)]}", ${symbols.join(', ')}},\n`;
  });
  const source = `${symbols_of_files}\nnamespace berth::api::console {\nconst std::vector<File>& ${name_of_function}() {\n  static const std::vector<File> all = {\n${table}  };\n  return all;\n}\n}  // namespace berth::api::console\n`;
  return { source, gzipped };
}
const { source, gzipped } = embedded(files, 'files');
writeFileSync(
  join(out, 'files.cpp'),
  `// Made by console/build.mjs.\n#include "api/console/files.h"\n\n${source}${embedded(pages, 'documentation').source}`,
);

// Of the languages one is loaded; the largest counts.
const sizes_of = (names) => names.reduce((sum, name) => sum + gzipped[name], 0);
const of_language = outputs
  .filter(({ entryPoint }) => /^src\/messages\/[a-z]+\.ts$/.test(entryPoint ?? ''))
  .map(({ name, imports }) =>
    sizes_of([
      name,
      ...imported_by({ imports }).filter((one) => !eager.includes(one) && one !== main.name && one !== begin.name),
    ]),
  );
const first_view =
  sizes_of(['index.html', hub, begin.name, main.name, style.name, ...eager]) + Math.max(...of_language);
console.log(
  `console: the first view takes ${first_view} bytes gzipped, in the largest of ${of_language.length} languages; documentation: ${html_pages.size} pages`,
);
if (first_view > first_view_limit) {
  console.error(`console: the first view must not take more than ${first_view_limit} bytes`);
  process.exit(1);
}
