import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * Runs format, lint, types, the search for unused code and the list of unclear wordings, each to its end, so that one run shows every fault. `--write`
 * fixes what it can.
 */
const bin = (name: string) => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))
const write = process.argv.includes('--write')

const knip = fileURLToPath(new URL('../node_modules/knip/bin/knip.js', import.meta.url))

const steps = [
  ['format and lint', bin('biome'), ['check', ...(write ? ['--write'] : []), '--error-on-warnings', '.']],
  ['types', bin('tsc'), ['-p', 'tsconfig.json']],
  ['unused files, exports and dependencies', process.execPath, [knip, '--no-progress']],
  ['plain words', process.execPath, [fileURLToPath(new URL('plain-words.ts', import.meta.url))]],
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
