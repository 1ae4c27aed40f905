import { type Bench, castArms, goalsOf } from './bench.ts'
import type { Machine } from './machine.ts'
import type { BenchOptions } from './options.ts'
import { mediansOf, type Report } from './report.ts'
import { Resources } from './resources.ts'
import { playRounds, warmUp } from './rounds.ts'
import { readCpuTimes, stealShare } from './steal.ts'
import { compareAll, controlSpread, overall, reasonsToDoubt } from './verdict.ts'

/**
 * Prepares the arms, warms each up, runs the rounds, judges. Closes everything that the bench opened at the end, also
 * after an interruption.
 *
 * @param say receives the progress, one short line at a time
 * @throws BenchFault when the bench cannot be judged or an arm answers wrongly
 */
export async function runBench(
  bench: Bench,
  options: Omit<BenchOptions, 'json'>,
  machine: Machine,
  { say = () => {}, signal }: { say?: (line: string) => void; signal?: AbortSignal } = {},
): Promise<Report> {
  const resources = new Resources()
  const interrupted = Promise.withResolvers<never>()
  interrupted.promise.catch(() => {})
  const interrupt = () => interrupted.reject(signal?.reason)
  if (signal?.aborted) interrupt()
  signal?.addEventListener('abort', interrupt, { once: true })
  try {
    return await Promise.race([play(bench, options, machine, resources, say), interrupted.promise])
  } finally {
    signal?.removeEventListener('abort', interrupt)
    await resources.close()
  }
}

async function play(
  bench: Bench,
  { rounds, seconds, warmUpSeconds, quick }: Omit<BenchOptions, 'json'>,
  machine: Machine,
  resources: Resources,
  say: (line: string) => void,
): Promise<Report> {
  const notes: string[] = []
  say('preparing')
  const arms = await bench.arms({
    quick,
    use: resource => resources.use(resource),
    note: text => void notes.push(text),
  })
  const cast = castArms(bench, arms)
  say('warming up')
  await warmUp(arms, warmUpSeconds)

  const before = readCpuTimes()
  const { series, doubts } = await playRounds(
    arms,
    { rounds, seconds, headline: goalsOf(bench)[0].metric },
    (round, arm) => say(`round ${round} of ${rounds}: ${arm.name}`),
  )
  const steal = stealShare(before, readCpuTimes())

  const comparisons = compareAll(bench, cast, series)
  const spread = controlSpread(bench, cast, series)
  const reasons = reasonsToDoubt({
    rounds,
    turns: rounds * arms.length,
    controlSpread: spread,
    steal,
    doubts,
  })
  return {
    name: bench.name,
    title: bench.title,
    verdict: overall(comparisons, reasons, quick),
    reasons,
    quick,
    rounds,
    seconds,
    warmUpSeconds,
    comparisons,
    arms: mediansOf(arms, series),
    series,
    controlSpread: spread,
    steal: steal ?? null,
    machine,
    notes,
  }
}
