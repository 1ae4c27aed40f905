import { setTimeout as sleep, setImmediate as yieldToSockets } from 'node:timers/promises'
import { serveGenerator } from './generator.ts'
import { HttpConnection } from './http-connection.ts'
import { type Expectation, type RequestSource, requestMaker } from './request.ts'
import { percentileOfSorted } from './statistics.ts'

export type OpenLoopPlan = Expectation & {
  url: string
  connections: number
  seconds: number
  /** Requests a second over all connections. */
  perSecond: number
  requests: RequestSource
}

export type OpenLoopCounts = {
  answered: number
  seconds: number
  statuses: Record<string, number>
  wrong: number
  /** Requests without an answer: the connection broke, or the grace period ended. */
  failed: number
  /** From the due time to the complete answer, in milliseconds. */
  p50Ms: number
  p99Ms: number
  maxMs: number
  /** The 99th percentile of how late requests left that found a connection free. */
  lateP99Ms: number
}

/** How long after the last due time the process waits for answers. */
const GRACE_MS = 10_000

await serveGenerator<OpenLoopPlan, OpenLoopCounts>(async plan => {
  const { expectStatus = 200, expectBody, perSecond } = plan
  const make = await requestMaker(plan.requests)
  const total = Math.floor(plan.seconds * perSecond)
  const latencies = new Float64Array(total)
  const lateness: number[] = []
  const statuses: Record<string, number> = {}
  let [sent, answered, wrong, broken] = [0, 0, 0, 0]

  const connections = await Promise.all(
    Array.from({ length: plan.connections }, () => HttpConnection.open(new URL(plan.url))),
  )
  const free = [...connections]
  const startedAt = performance.now()
  const dueAt = (n: number) => startedAt + (n * 1_000) / perSecond

  /** Sends request number `sent` on this connection, and overdue ones after its answer. */
  const send = (connection: HttpConnection) => {
    const n = sent++
    connection.request(
      make(n),
      ({ status, body }) => {
        latencies[answered++] = performance.now() - dueAt(n)
        statuses[status] = (statuses[status] ?? 0) + 1
        if (status !== expectStatus || (expectBody !== undefined && !body().includes(expectBody))) wrong++
        if (sent < total && dueAt(sent) <= performance.now()) send(connection)
        else free.push(connection)
      },
      () => broken++,
    )
  }

  while (answered + broken < total && performance.now() < dueAt(total) + GRACE_MS) {
    for (let now = performance.now(); sent < total && dueAt(sent) <= now; ) {
      const connection = free.pop()
      if (!connection) break
      lateness.push(now - dueAt(sent))
      send(connection)
    }
    if (broken === connections.length) break
    // A timer's resolution is a millisecond, too coarse to send by; spinning still serves the sockets.
    const spare = (sent < total ? dueAt(sent) : performance.now() + 3) - performance.now()
    await (spare > 2 ? sleep(1) : yieldToSockets())
  }
  const seconds = (performance.now() - startedAt) / 1_000
  for (const connection of connections) connection.close()

  const sorted = latencies.subarray(0, answered).sort()
  return {
    answered,
    seconds,
    statuses,
    wrong,
    failed: total - answered,
    p50Ms: percentileOfSorted(sorted, 0.5),
    p99Ms: percentileOfSorted(sorted, 0.99),
    maxMs: percentileOfSorted(sorted, 1),
    lateP99Ms: percentileOfSorted(Float64Array.from(lateness).sort(), 0.99),
  }
})
