import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Format, lint and types, each to its end, so that one run tells all faults. `--write` mends what it can. */
const bin = (name: string) => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))
const write = process.argv.includes('--write')

const steps = [
  ['format and lint', bin('biome'), ['check', ...(write ? ['--write'] : []), '--error-on-warnings', '.']],
  ['types', bin('tsc'), ['-p', 'tsconfig.json']],
  ['types in the browser', bin('tsc'), ['-p', 'packages/server/src/pages/browser/tsconfig.json']],
] as const

let failed = 0
for (const [name, command, args] of steps) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  console.log(`${name}: ${status === 0 ? 'ok' : 'FAILED'}`)
  if (status !== 0) failed += 1
}
process.exitCode = failed === 0 ? 0 : 1
