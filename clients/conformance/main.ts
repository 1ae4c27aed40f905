import { loadCases } from './case.ts'
import { Program } from './program.ts'
import { runCases } from './run.ts'

/** Holds a node in any language to the cases. Usage: `main.ts [--only NAME] -- PROGRAM ARGUMENTS`. */

const SHOWN = 20

const args = process.argv.slice(2)
const at = args.indexOf('--')
const [option, only = '', ...rest] = at === -1 ? ['?'] : args.slice(0, at)
const command = args.slice(at + 1)
const isRight = (option === undefined || (option === '--only' && only !== '')) && rest.length === 0
if (!isRight || command.length === 0) {
  console.error('usage: node clients/conformance/main.ts [--only NAME] -- PROGRAM ARGUMENTS')
  process.exit(2)
}

const cases = loadCases().filter(({ name, file }) => name.includes(only) || file === `${only}.json`)
if (cases.length === 0) {
  console.error(`no case has ${only} in its name`)
  process.exit(2)
}

const counts = { passed: 0, failed: 0, skipped: 0 }
const unsupported = new Map<string, number>()
const program = new Program(command)
for await (const { name, file, outcome, why } of runCases(program, cases)) {
  counts[outcome]++
  const said = program.said()
  if (outcome === 'skipped') unsupported.set(why[0] ?? '', (unsupported.get(why[0] ?? '') ?? 0) + 1)
  if (outcome !== 'failed') continue
  console.log(`FAILED ${name} (cases/${file})`)
  for (const line of why.slice(0, SHOWN)) console.log(`    ${line}`)
  if (said !== '') console.log(said.trimEnd().replace(/^/gm, '    | '))
}
await program.close()
for (const [op, times] of unsupported) console.log(`skipped ${times}: the driver does not support ${op}`)
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
process.exitCode = counts.failed > 0 ? 1 : 0
