import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { lookAgain, type SecondLooks, withoutQuarantined } from './judge.ts'
import type { Progress } from './progress.ts'
import type { Quarantined } from './quarantine.ts'
import { limitMsOf, ringOf, weightOf } from './rings.ts'
import { endAll, type FileResult, hasFailed, runFile } from './run-file.ts'
import { runJobs } from './schedule.ts'

export interface RunOptions {
  /** In the order in which they begin. A file may stand there several times. */
  readonly files: readonly string[]
  /** Files of the inner ring that run at once. */
  readonly slots: number
  /** No file begins after this. Milliseconds from the start of the run. */
  readonly beginWithinMs: number
  /** Whether a failed file gets a second look. */
  readonly secondLook: boolean
  readonly quarantine: readonly Quarantined[]
  /** Keeps what failed files printed: emptied when the run begins, and made when a file fails. */
  readonly kept: string
  readonly progress: Progress
  /** Overrides the limit of each file. Milliseconds. */
  readonly limitMs?: number
  /** Ends what runs, and begins nothing more. */
  readonly stopped: AbortSignal
}

export interface RunResults extends SecondLooks {
  readonly results: readonly FileResult[]
  readonly notBegun: readonly string[]
}

/** A run with a limit of time looks at failed files again for so much longer; the others count as they failed. */
const lookingWithinMs = 10 * 60_000

/** Runs test files, those that failed a second time, and reports each as it ends. */
export async function runTests(options: RunOptions): Promise<RunResults> {
  const { files, slots, beginWithinMs, progress, quarantine, stopped } = options
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-tests-'))
  rmSync(options.kept, { recursive: true, force: true })
  const began = performance.now()
  let runs = 0
  const run = async (file: string, look: 'first' | 'second') => {
    runs += 1
    const ring = ringOf(file)
    const limitMs = options.limitMs ?? limitMsOf(ring)
    const place = join(folder, String(runs))
    const result = await runFile({ file, limitMs, startsNothing: ring === 'inner', folder: place })
    const judged = withoutQuarantined(result, quarantine)
    if (stopped.aborted) return judged
    if (hasFailed(result)) keepOutput(result, options.kept, look)
    progress.ended(result, look, hasFailed(judged))
    rmSync(place, { recursive: true, force: true })
    return judged
  }
  stopped.addEventListener('abort', endAll)
  try {
    const jobs = files.map(file => ({ file, weight: weightOf(ringOf(file)) }))
    const mayBegin = () => !stopped.aborted && performance.now() - began < beginWithinMs
    const { results, notBegun } = await runJobs(jobs, { slots, run: file => run(file, 'first'), mayBegin })
    const mayLook = () => !stopped.aborted && performance.now() - began < beginWithinMs + lookingWithinMs
    const looks = options.secondLook
      ? await lookAgain(results, file => run(file, 'second'), mayLook)
      : { unsteady: [], failed: results.filter(hasFailed), second: new Map() }
    return { results, notBegun, ...looks }
  } finally {
    progress.close()
    stopped.removeEventListener('abort', endAll)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A file that fails several times in a run has a numbered log for each. */
function keepOutput({ output }: FileResult, kept: string, look: 'first' | 'second'): void {
  mkdirSync(kept, { recursive: true })
  const name = join(kept, basename(output, '.log') + (look === 'first' ? '' : '.again'))
  let path = `${name}.log`
  for (let number = 2; existsSync(path); number += 1) path = `${name}.${number}.log`
  copyFileSync(output, path)
}
