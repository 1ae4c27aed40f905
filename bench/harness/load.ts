import { BenchFault } from './bench.ts'
import { runGenerator } from './generator.ts'
import type { LoadCounts, LoadPlan } from './load-process.ts'
import type { OpenLoopCounts, OpenLoopPlan } from './open-loop-process.ts'
import type { Expectation, RequestSource } from './request.ts'

export type Load = Expectation & {
  /** Origin of the server, `http://127.0.0.1:8080`. */
  url: string
  /** Kept open for the whole load, one request at a time on each. */
  connections: number
  seconds: number
  requests: RequestSource
  core?: number | null
}

export type LoadResult = LoadCounts & {
  perSecond: number
  doubt: string | undefined
}

/** A generator this busy was the bottleneck itself, and would make two servers look more alike than they are. */
const GENERATOR_BUSY_MAX = 0.95

/**
 * As many requests as the server will take: each connection sends the next when it has the answer. For throughput: its
 * latencies would be those of a queue that adapts to the server, so it returns none. At the end up to `connections`
 * requests are cut off unanswered and not counted.
 *
 * @throws BenchFault when an answer is wrong or missing
 */
export async function closedLoop({ core, ...load }: Load): Promise<LoadResult> {
  const counts = await runGenerator<LoadPlan, LoadCounts>('./load-process.ts', load, core)
  refuseWrong(load.url, counts)
  return {
    ...counts,
    perSecond: counts.answered / counts.seconds,
    doubt: counts.generatorBusy > GENERATOR_BUSY_MAX ? 'the load generator used up its core' : undefined,
  }
}

export type OpenLoopResult = OpenLoopCounts & { doubt: string | undefined }

/** Beyond this share, the p99 measures a generator that sends late rather than the server. */
const LATE_SHARE_MAX = 0.25

/**
 * Requests at a fixed rate, independent of the server: for latency. Each latency counts from the moment the request was
 * due, so a stalled server is charged for every request that had to wait (no coordinated omission). Choose 70 % of the
 * rate of the slower arm.
 *
 * @throws BenchFault when an answer is wrong or missing
 */
export async function openLoop({ core, ...load }: Load & { perSecond: number }): Promise<OpenLoopResult> {
  const counts = await runGenerator<OpenLoopPlan, OpenLoopCounts>('./open-loop-process.ts', load, core)
  refuseWrong(load.url, counts)
  return {
    ...counts,
    doubt: counts.lateP99Ms > counts.p99Ms * LATE_SHARE_MAX ? 'the load generator sent late' : undefined,
  }
}

function refuseWrong(
  url: string,
  counts: Pick<LoadCounts, 'answered' | 'statuses' | 'wrong' | 'failed'>,
): void {
  const { answered, statuses, wrong, failed } = counts
  if (answered > 0 && wrong === 0 && failed === 0) return
  throw new BenchFault(
    `${url} gave ${wrong} wrong answers, ${failed} failed connections, of ${answered}: ${JSON.stringify(statuses)}`,
  )
}
