import { globSync } from 'node:fs'
import { formatTable } from '../bench/harness/table.ts'
import { readCommandLine, refuse } from '../tools/command-line.ts'
import { type Drill, type DrillOptions, formatOutcome } from './harness/drill.ts'

/** `npm run drills`: tries to break Keyrail's promises. */
const usage = `\
npm run drills                     lists the drills
npm run drills -- NAME [options]   runs one: p1
npm run drills -- all [options]    runs each

  --cycles N   how often it tries (each drill has its number)
  --seed N     the random choices of an earlier run

Exit code 0: the promise was not broken. 1: it was.`

const { values, positionals } = readCommandLine(
  usage,
  { cycles: { type: 'string' }, seed: { type: 'string' } },
  { most: 1 },
)

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
  if (chosen.length === 0) refuse(`Drill ${name} does not exist; without a name all are listed.`)
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
  if (!/^\d{1,9}$/.test(text)) refuse(`--${option} must be a whole number, not ${text}`)
  return Number(text)
}
