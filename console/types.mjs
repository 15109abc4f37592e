// Checks the console's types against an OpenAPI document: node types.mjs FILE-OR-URL. A request that the document
// doesn't know doesn't compile.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
mkdirSync(join(here, 'src/generated'), { recursive: true });
const run = (program, ...parameters) => {
  const { status } = spawnSync(process.execPath, [join(here, 'node_modules', program), ...parameters], {
    cwd: here,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return status === 0;
};
const generated = run('openapi-typescript/bin/cli.js', process.argv[2], '-o', 'src/generated/openapi.d.ts');
const checked =
  generated &&
  spawnSync(process.execPath, [join(here, 'node_modules/typescript/bin/tsc'), '-p', here], { stdio: 'inherit' })
    .status === 0;
process.exit(checked ? 0 : 1);
