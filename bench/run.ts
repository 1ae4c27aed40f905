import { join } from 'node:path'
import { findBenchFile, listBenchFiles, loadBench } from './harness/catalogue.ts'
import { describeMachine } from './harness/machine.ts'
import { parseCommandLine, USAGE } from './harness/options.ts'
import { formatReport } from './harness/report.ts'
import { runBench } from './harness/run-bench.ts'
import { formatTable } from './harness/table.ts'
import { exitCodeOf } from './harness/verdict.ts'

/** `npm run bench`: lists the benches, or runs one and prints its table. */

const FOLDER = import.meta.dirname

async function main(args: readonly string[]): Promise<number> {
  const { help, name, options } = parseCommandLine(args)
  if (help) {
    console.log(USAGE)
    return 0
  }
  if (name === undefined) {
    console.log(await list())
    return 0
  }
  const bench = await loadBench(findBenchFile(name, FOLDER))
  const interrupt = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => interrupt.abort(new Error(`interrupted by ${signal}`)))
  }
  say(`${bench.name}: reading the machine`)
  const machine = await describeMachine()
  const report = await runBench(bench, options, machine, { say, signal: interrupt.signal })
  say('')
  console.log(options.json ? JSON.stringify(report, null, 2) : formatReport(report))
  return exitCodeOf(report.verdict)
}

async function list(): Promise<string> {
  const files = listBenchFiles(FOLDER)
  const benches = await Promise.all(files.map(file => loadBench(join(FOLDER, file))))
  const rows = benches.map(({ name, title }, index) => [name, title, `bench/${files[index]}`])
  return `${formatTable(['name', 'what it measures', 'file'], rows)}\n\n${USAGE}`
}

/** Progress on one line of a terminal, overwritten by the next; silent without a terminal. */
function say(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
}

try {
  // Not `process.exitCode`: an open socket of an interrupted bench must not keep this process alive.
  process.exit(await main(process.argv.slice(2)))
} catch (error) {
  say('')
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
