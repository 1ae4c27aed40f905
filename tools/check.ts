import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { readCommandLine } from './command-line.ts'

/** `npm run check`: runs each check to its end, so that one run shows every fault. */
const usage = `\
npm run check              format, lint, types, unused code, names of tests, and the sizes of dashboard and widget
npm run check -- --write   the same, after fixing the format and what else it can

Exit code 0: no fault. 1: at least one.`

const { write } = readCommandLine(usage, { write: { type: 'boolean', default: false } }).values
const bin = (name: string) => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))

const knip = fileURLToPath(new URL('../node_modules/knip/bin/knip.js', import.meta.url))

const steps = [
  ['format and lint', bin('biome'), ['check', ...(write ? ['--write'] : []), '--error-on-warnings', '.']],
  ['types', bin('tsc'), ['-p', 'tsconfig.json']],
  ['unused files, exports and dependencies', process.execPath, [knip, '--no-progress']],
  ['names of tests', process.execPath, [fileURLToPath(new URL('test-names.ts', import.meta.url))]],
  ['types of the dashboard', bin('tsc'), ['-p', 'packages/dashboard/tsconfig.json']],
  [
    'sizes of the dashboard',
    process.execPath,
    [fileURLToPath(new URL('../packages/dashboard/budgets.ts', import.meta.url))],
  ],
  ['types of the widget', bin('tsc'), ['-p', 'packages/embed/tsconfig.json']],
  [
    'size of the widget',
    process.execPath,
    [fileURLToPath(new URL('../packages/embed/budgets.ts', import.meta.url))],
  ],
] as const

let failed = 0
for (const [name, command, args] of steps) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  console.log(`${name}: ${status === 0 ? 'ok' : 'FAILED'}`)
  if (status !== 0) failed += 1
}
process.exitCode = failed === 0 ? 0 : 1
