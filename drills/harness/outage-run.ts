import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Diff, diffLoad } from './ledger.ts'
import { isAcknowledged, isOvertaken, type Load, type Sent, startLoad } from './load.ts'
import { type OutageStage, setOutageStage } from './outage-stage.ts'
import { type Outage, outages } from './outages.ts'
import { until } from './pauses.ts'
import { probe, startWatch } from './watch.ts'

export interface OutageOptions {
  seed: number
  clients: number
  /** How long the store is out. */
  outMs: number
  limits: {
    /** The time within which every request is answered, from its sending or the beginning of the outage. */
    answerMs: number
    /** The time within which requests succeed again, after the store's return. */
    recoveryMs: number
  }
  /** Whether to go on until that time has passed, and check that all requests then succeed. */
  waitOut?: boolean
}

export interface OutageResult {
  /** Requests that were sent while the store was out, by result. */
  succeeded: number
  unavailable: number
  slowestMs: number
  readiness: string
  health: string
  recoveredMs: number
  acknowledged: number
  lost: number
  broken: string[]
}

/** A request of any kind, as it is judged. */
interface Heard {
  what: string
  sentAt: number
  status: number
  code: string | undefined
  ms: number
}

/** Lets clients mutate and read through an outage and its end, then compares the answers with the promise. */
export async function runOutage(name: string, options: OutageOptions): Promise<OutageResult> {
  const outage = outages[name] as Outage
  const stage = await setOutageStage(outage.needsSmallDisk ?? false)
  try {
    return await judgeOutage(stage, outage, options)
  } finally {
    await stage.close()
  }
}

async function judgeOutage(
  stage: OutageStage,
  outage: Outage,
  { seed, clients, outMs, limits, waitOut = true }: OutageOptions,
): Promise<OutageResult> {
  const { api, scenes } = stage
  const token = scenes[0]?.live ?? ''
  const prefix = 'out'
  const load = startLoad(api, scenes, { clients, prefix, seed })
  await until('the clients’ first mutations', () => load.acknowledged() >= clients)
  const watch = startWatch(api, [
    { url: '/healthz' },
    { url: '/readyz' },
    { url: '/v1/keys?limit=5', token },
    { url: '/v1/ratelimit/check', token, body: someCheck },
    { url: '/v1/idempotency/claim', token, body: someClaim },
  ])

  const beganAt = performance.now()
  const end = await outage.begin(stage)
  const outAt = performance.now()
  await sleep(outMs)
  const endingAt = performance.now()
  await end()
  const backAt = performance.now()
  const recoveredMs = await untilRecovered(stage, load, backAt)
  // A client that asks later than that must not notice it any more.
  if (waitOut) await sleep(Math.max(0, backAt + limits.recoveryMs - performance.now()) + 500)
  await watch.stop()
  await load.stop()

  const sent = [...load.sent, ...(await Promise.all(stage.aside))]
  const heard: Heard[] = [...sent.map(toHeard), ...watch.probes]
  const meanwhile = heard.filter(({ sentAt, ms }) => sentAt >= outAt && sentAt + ms <= endingAt)
  const ofStore = meanwhile.filter(({ what }) => !what.includes('healthz'))
  const statusesOf = (url: string) =>
    [...new Set(meanwhile.filter(({ what }) => what.endsWith(url)).map(({ status }) => status))]
      .toSorted()
      .join(' ')
  const readiness = statusesOf('/readyz')
  const broken = [
    ...answeredFaults(heard, beganAt, limits.answerMs),
    ...(outage.extent === 'store gone'
      ? ofStore.filter(isSuccess).map(one => `${line(one)} though the store was out`)
      : []),
    ...(outage.extent === 'store gone' && readiness !== '503'
      ? [`readiness was ${readiness} while the store was out`]
      : []),
    ...(outage.extent === 'store well' ? ofStore.filter(one => !isSuccess(one)).map(line) : []),
    ...(outage.extent !== 'store well' && !ofStore.some(one => hasNoticed(one, outage))
      ? ['no request noticed the outage']
      : []),
    ...(recoveredMs > limits.recoveryMs ? [`recovered only after ${Math.round(recoveredMs)} ms`] : []),
    ...heard
      .filter(one => one.sentAt > backAt + limits.recoveryMs && !isSuccess(one))
      .map(one => `${line(one)}, ${Math.round(one.sentAt - backAt)} ms after the store was back`),
  ]
  const diff = await diffAfter(stage, sent, prefix)
  return {
    succeeded: ofStore.filter(isSuccess).length,
    unavailable: ofStore.filter(({ status }) => status === 503).length,
    slowestMs: Math.max(...heard.map(one => waitedMs(one, beganAt))),
    readiness,
    health: statusesOf('/healthz'),
    recoveredMs,
    acknowledged: diff.acknowledged,
    lost: diff.lost,
    broken: [...broken, ...diff.broken],
  }
}

/** A store that is only slow may still be in time for every request. */
const slowMs = 250
const hasNoticed = ({ status, ms }: Heard, { extent }: Outage) =>
  status === 503 || (extent === 'store hampered' && ms > slowMs)

const isSuccess = ({ status }: Heard) => status >= 200 && status < 300
const line = ({ what, status, code, ms }: Heard) =>
  `${what} answered ${status} ${code ?? ''} after ${Math.round(ms)} ms`

const toHeard = ({ plan, sentAt, answer, ms }: Sent): Heard => ({
  what: `${plan.call[0]} ${plan.call[1]}`,
  sentAt,
  status: answer?.status ?? 0,
  code: answer?.body?.code,
  ms,
})

/**
 * What a vendor's servers ask for each request of their customers: always with one key, for a new request each time.
 */
const customer = { project_id: randomUUID(), key_id: randomUUID() }
const someCheck = () => ({
  ...customer,
  env: 'live',
  limits: [{ id: 'drill', limit: 1_000_000, window_ms: 60_000, algorithm: 'sliding', scope: 'key' }],
})
const someClaim = () => {
  const hash = randomBytes(32).toString('hex')
  return { scope_hash: hash, fingerprint: hash, env: 'live' }
}

/** From when it was sent, or from when the outage began, if that is later. */
const waitedMs = ({ sentAt, ms }: Heard, beganAt: number) =>
  sentAt + ms - Math.max(sentAt, Math.min(beganAt, sentAt + ms))

function answeredFaults(heard: readonly Heard[], beganAt: number, answerMs: number): string[] {
  return heard.flatMap(one => {
    if (one.status === 0) return [`${one.what} was not answered, after ${Math.round(one.ms)} ms`]
    const isRefused = (one.status === 503 && one.code === 'unavailable') || isOvertaken(one.status, one.code)
    if (!isSuccess(one) && !isRefused) return [line(one)]
    if (one.what.includes('healthz') && one.status !== 200) return [line(one)]
    // A deletion revokes every key in one transaction, and may work as long as the store answers.
    if (one.what.startsWith('DELETE') && isSuccess(one)) return []
    return waitedMs(one, beganAt) > answerMs ? [`${line(one)}, more than ${answerMs}`] : []
  })
}

/** Until readiness is green and a mutation begun after the store's return was acknowledged. */
async function untilRecovered({ api }: OutageStage, load: Load, backAt: number): Promise<number> {
  let seen = load.sent.length
  await until('an acknowledged mutation', () => {
    while (seen > 0 && (load.sent[seen - 1]?.sentAt ?? 0) > backAt) seen -= 1
    return load.sent.slice(seen).some(one => one.sentAt > backAt && isAcknowledged(one))
  })
  await until('readiness', async () => (await probe(api, { url: '/readyz' })).status === 200)
  return performance.now() - backAt
}

async function diffAfter(stage: OutageStage, sent: readonly Sent[], prefix: string): Promise<Diff> {
  const client = await stage.reconnect()
  const workspaceIds = stage.scenes.map(({ workspaceId }) => workspaceId)
  return diffLoad(stage.api, client, { sent, prefix, workspaceIds })
}
