import { globSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { formatTable } from '../bench/harness/table.ts'
import { type Drill, type DrillOptions, formatOutcome } from './harness/drill.ts'

/**
 * Tries to break Keyrail's promises.
 *
 *   npm run drills                                    lists the drills
 *   npm run drills -- p1 [--cycles N] [--seed N]      runs one; exit code 1 when the promise was broken
 *   npm run drills -- all                             runs each
 */
const { values, positionals } = parseArgs({
  options: { cycles: { type: 'string' }, seed: { type: 'string' } },
  allowPositionals: true,
})

const files = globSync('p[0-9]*.ts', { cwd: import.meta.dirname, exclude: ['*.test.ts'] }).toSorted()
const drills: Drill[] = []
for (const file of files) drills.push((await import(`./${file}`)).drill)

const seed = wholeNumber('seed') ?? Date.now() % 1_000_000
const cycles = wholeNumber('cycles')
/** The first signal asks for an early end; the second exits at once, which also removes the mounted disks. */
const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => (interrupt.signal.aborted ? process.exit(1) : interrupt.abort()))
}

const [name] = positionals
if (name === undefined) {
  console.log(
    formatTable(
      ['name', 'what it tries to break'],
      drills.map(drill => [drill.name, drill.title]),
    ),
  )
} else {
  const chosen = drills.filter(drill => name === 'all' || drill.name === name)
  if (chosen.length === 0) {
    console.error(`Drill ${name} does not exist; without a name all are listed.`)
    process.exit(2)
  }
  for (const drill of chosen) process.exitCode = Math.max(Number(process.exitCode ?? 0), await run(drill))
}

async function run(drill: Drill): Promise<0 | 1> {
  const options: DrillOptions = {
    seed,
    signal: interrupt.signal,
    ...(cycles !== undefined && { cycles }),
    say: line => process.stderr.write(process.stderr.isTTY ? `\r\x1b[2K${line}` : ''),
  }
  const outcome = await drill.run(options)
  options.say('')
  console.log(`${formatOutcome(drill, options, outcome)}\n`)
  return outcome.broken.length === 0 ? 0 : 1
}

function wholeNumber(option: 'cycles' | 'seed'): number | undefined {
  const text = values[option]
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  console.error(`--${option} must be a whole number, not ${text}`)
  process.exit(2)
}
