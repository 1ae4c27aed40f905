/**
 * Measures what lies between this machine and the service: holds one poll, compares the times of answers, and compares
 * clocks. It stands alone, so that it can be copied to where an API runs. Node 22.18 or later executes it as it is:
 *
 *     KEYRAIL_URL=… KEYRAIL_SECRET_KEY=… KEYRAIL_PROJECT=… node check-gateway.ts
 *
 * Exits with 1 if something costs nodes anything. docs/sdk/behind-a-gateway.md says what to do then.
 */

import { realpathSync } from 'node:fs'

interface Clock {
  wall(): number
  monotonic(): number
  pause(milliseconds: number): Promise<void>
}

interface Options {
  url: string
  secretKey: string
  project: string
  /** For how long the service is asked to hold an answer. Nodes ask for 25 s. */
  holdSeconds?: number
  fetch?: typeof globalThis.fetch
}

/** What lies between this machine and the service, as measured. */
export interface GatewayReport {
  /** Whether nothing was found that costs nodes anything. */
  ok: boolean
  /** What was found, each a sentence for a log. */
  findings: string[]
  /** How long the held answer took, in ms. */
  heldMs: number
  /** How far the service's clock is ahead of this machine's, in ms. */
  clockAheadMs: number
  /** How far `Date` of the answers is ahead of the service's clock, in ms; null without one. */
  dateAheadMs: number | null
}

const TIMEOUT_MS = 10_000
/** Clocks and times that differ by more are reported. */
const APART_MS = 5_000
/** Between two answers whose times are compared. */
const BETWEEN_MS = 1_500

const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  pause: milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds)),
}

interface Answer {
  version: number
  generatedAt: number
  date: number | undefined
  waits: boolean
  at: number
  wall: number
}

/** @throws Error if the service does not answer at all, or refuses the secret key or the project */
export async function checkGateway(options: Options, clock: Clock = systemClock): Promise<GatewayReport> {
  const { url, secretKey, project, holdSeconds = 25, fetch = globalThis.fetch } = options
  const ask = async (path: string, more: Record<string, string>, wait = 0): Promise<Answer> => {
    const nonce = crypto.randomUUID()
    const query = new URLSearchParams({ project_id: project, max_keys: '1', ...more, nonce })
    const response = await fetch(`${url.replace(/\/+$/, '')}${path}?${query}`, {
      headers: { authorization: `Bearer ${secretKey}`, ...(wait > 0 && { prefer: `wait=${wait}` }) },
      redirect: 'manual',
      signal: AbortSignal.timeout(wait * 1_000 + TIMEOUT_MS),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`status ${response.status}`)
    const { version, generated_at } = JSON.parse(text)
    const date = Date.parse(response.headers.get('date') ?? '')
    return {
      version,
      generatedAt: Date.parse(generated_at),
      date: Number.isNaN(date) ? undefined : date,
      waits: /\bwait\b/.test(response.headers.get('preference-applied') ?? ''),
      at: clock.monotonic(),
      wall: clock.wall(),
    }
  }
  const { version } = await ask('/v1/policy/snapshot', {})
  const since = { since: String(version) }
  const first = await ask('/v1/policy/delta', since)
  const began = clock.monotonic()
  const held = await ask('/v1/policy/delta', since, holdSeconds).catch((error: Error) => error)
  const heldMs = clock.monotonic() - began
  await clock.pause(BETWEEN_MS)
  const last = await ask('/v1/policy/delta', since)

  const clockAheadMs = last.generatedAt - last.wall
  const dateAheadMs = last.date === undefined ? null : last.date - last.generatedAt
  const hold =
    held instanceof Error ? { failed: held.message } : { isChanged: held.version !== version, ...held }
  const advancedMs = last.generatedAt - first.generatedAt
  // Times of a cache say nothing about clocks.
  const isCached = advancedMs < BETWEEN_MS / 3
  const costs = [
    ...holdFindings(hold, heldMs, holdSeconds),
    ...(isCached ? [cached] : timeFindings(advancedMs - (last.at - first.at))),
  ]
  const findings = [...costs, ...(isCached ? [] : clockFindings(clockAheadMs, dateAheadMs))]
  return { ok: costs.length === 0, findings, heldMs, clockAheadMs, dateAheadMs }
}

const seconds = (ms: number): string => `${Math.round(Math.abs(ms) / 100) / 10} s`

function holdFindings(
  { failed, waits, isChanged }: { failed?: string; waits?: boolean; isChanged?: boolean },
  heldMs: number,
  holdSeconds: number,
): string[] {
  if (failed !== undefined)
    return [
      `An answer that the service may hold for ${holdSeconds} s failed after ${seconds(heldMs)} (${failed}). Let whatever lies between wait for 75 s: until then nodes use shorter holds`,
    ]
  if (!waits)
    return [
      'The service did not hold an answer, or its Preference-Applied was removed: nodes poll at their interval. Pass on Prefer and Preference-Applied',
    ]
  if (isChanged || heldMs >= holdSeconds * 1_000 - 1_000) return []
  return [`An answer that nothing had changed came after ${seconds(heldMs)} in place of ${holdSeconds} s`]
}

const cached = 'Two answers have the same time, as from a cache: keys go stale. Do not cache paths below /v1'

const timeFindings = (apartMs: number): string[] =>
  Math.abs(apartMs) > APART_MS
    ? [
        `The times of two answers are ${seconds(apartMs)} off: processes of the service have different clocks, or one was set`,
      ]
    : []

/** Nodes go by the service's clock, so these cost nothing. */
function clockFindings(clockAheadMs: number, dateAheadMs: number | null): string[] {
  const said = (what: string, aheadMs: number) =>
    Math.abs(aheadMs) > APART_MS
      ? [`${what} is ${seconds(aheadMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} the service's clock`]
      : []
  return [
    ...said("This machine's clock", -clockAheadMs),
    ...said('Date, which something between writes,', dateAheadMs ?? 0),
  ]
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  const {
    KEYRAIL_URL: url = '',
    KEYRAIL_SECRET_KEY: secretKey = '',
    KEYRAIL_PROJECT: project = '',
  } = process.env
  const { ok, findings } = await checkGateway({ url, secretKey, project })
  console.log(findings.join('\n') || 'Nothing was found')
  process.exitCode = ok ? 0 : 1
}
