import { setTimeout as sleep } from 'node:timers/promises'
import { serveGenerator } from '../harness/generator.ts'
import { HttpConnection } from '../harness/http-connection.ts'
import type { HttpRequest } from '../harness/request.ts'

/**
 * Many callers at once, each calling more often than its limit allows, alternately through two processes. Returns for
 * each how often it was allowed beyond the exact sum.
 */
export interface AccuracyPlan {
  /** Addresses of the two processes. */
  urls: [string, string]
  /** One check for each caller; its verdict has `"allowed":true` or not. */
  requests: HttpRequest[]
  limit: number
  /** Checks per caller in a turn, more than the limit. */
  attempts: number
  /** Null: all within one window. Otherwise each caller spends its limit in one window and asks again in the next. */
  rollMs: number | null
}
export interface AccuracyCounts {
  admitted: number
  overAdmitted: number
  /** Callers that were allowed too often, or too seldom in a window after an unused one. */
  callersOver: number
  callersUnder: number
}

const CALLERS_AT_ONCE = 64

await serveGenerator<AccuracyPlan, AccuracyCounts>(async ({ urls, requests, limit, attempts, rollMs }) => {
  // The first window: every caller spends its whole limit, in the second half of the window.
  if (rollMs !== null) await untilWindow(rollMs, 0.5)
  const lanes = await Promise.all(
    Array.from({ length: CALLERS_AT_ONCE }, () =>
      Promise.all(urls.map(url => HttpConnection.open(new URL(url)))),
    ),
  )
  if (rollMs !== null) {
    await overAll(requests, lanes, (request, pair) => spend(request, pair, limit))
    await untilWindow(rollMs, 0)
  }
  const counts: AccuracyCounts = { admitted: 0, overAdmitted: 0, callersOver: 0, callersUnder: 0 }
  await overAll(requests, lanes, async (request, pair) => {
    const admitted = await spend(request, pair, attempts)
    counts.admitted += admitted
    // The remainder of the window before, when the last verdict has arrived: no verdict was made later in the window.
    const carried = rollMs === null ? 0 : limit * (1 - (Date.now() % rollMs) / rollMs)
    const most = Math.floor(limit - carried)
    counts.overAdmitted += Math.max(0, admitted - most)
    if (admitted > most) counts.callersOver += 1
    if (rollMs === null && admitted < limit) counts.callersUnder += 1
  })
  return counts
})

/** As many at once as pairs of connections. */
async function overAll(
  requests: readonly HttpRequest[],
  lanes: readonly HttpConnection[][],
  work: (request: HttpRequest, pair: HttpConnection[]) => Promise<unknown>,
): Promise<void> {
  let next = 0
  await Promise.all(
    lanes.map(async pair => {
      for (let at = next++; at < requests.length; at = next++) await work(requests[at] as HttpRequest, pair)
    }),
  )
}

/** Sends that many checks, on both processes at once. @returns how many were allowed. */
async function spend(request: HttpRequest, pair: HttpConnection[], times: number): Promise<number> {
  const shares = pair.map((_, i) => Math.floor((times + i) / pair.length))
  const passed = await Promise.all(
    pair.map(async (connection, i) => {
      let allowed = 0
      for (let n = 0; n < (shares[i] ?? 0); n++) if (await isAllowed(connection, request)) allowed += 1
      return allowed
    }),
  )
  return passed.reduce((sum, one) => sum + one, 0)
}

function isAllowed(connection: HttpConnection, request: HttpRequest): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  connection.request(
    request,
    ({ status, body }) =>
      status === 200 ? resolve(body().includes('"allowed":true')) : reject(new Error(`${status} ${body()}`)),
    reject,
  )
  return promise
}

/** Waits until a window, aligned to the epoch, has run this far. */
async function untilWindow(windowMs: number, share: number): Promise<void> {
  const into = Date.now() % windowMs
  const target = share * windowMs
  await sleep(into <= target ? target - into : windowMs - into + target)
}
