import {
  type ConnectionOptions,
  connectionNames,
  readConnectionParts,
  refuseUnknown,
} from '../http/connection-options.ts'
import { readInteger, readProject } from '../http/option-values.ts'
import { WAIT_MAX_SECONDS } from '../http/schedule.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { asKeyrailError, badResponse } from '../runtime/errors.ts'
import { pause } from '../runtime/pause.ts'
import { createFeedClient, type FeedRequest } from './client.ts'
import { isObject, isVersion, readTime } from './values.ts'

/** Options of `checkGateway`. */
export interface GatewayOptions extends ConnectionOptions {
  /** Id of the project whose feed is asked. Default: `KEYRAIL_PROJECT`. */
  project?: string | undefined
  /** For how long the service is asked to hold an answer, in seconds. Default and maximum: 25, as nodes ask. */
  holdSeconds?: number | undefined
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

/**
 * Measures what lies between this machine and the service: holds one poll, compares the times of answers, and compares
 * clocks. Takes as long as the hold, and appears in no list of nodes. Run it when you deploy, beside the keyring.
 *
 * @throws TypeError naming a missing or wrong option
 * @throws KeyrailError if the service does not answer at all, or refuses the secret key or the project
 */
export const checkGateway = (options: GatewayOptions = {}): Promise<GatewayReport> =>
  runGatewayCheck(options, systemClock)

const known: { readonly [Name in keyof Required<GatewayOptions>]: true } = {
  ...connectionNames,
  project: true,
  holdSeconds: true,
}

/** `checkGateway` with the caller's own clock. */
export async function runGatewayCheck(options: GatewayOptions, clock: Clock): Promise<GatewayReport> {
  refuseUnknown('checkGateway', options, known)
  const holdSeconds = readInteger('holdSeconds', options.holdSeconds ?? WAIT_MAX_SECONDS, 1, WAIT_MAX_SECONDS)
  const project_id = readProject(options.project)
  const client = createFeedClient(readConnectionParts(options))
  const { signal } = new AbortController()
  const ask = async (path: FeedRequest['path'], more: Record<string, string>, wait = 0) => {
    const query = new URLSearchParams({ project_id, max_keys: '1', ...more })
    const timeoutMs = wait * 1_000 + TIMEOUT_MS
    const { body, date, waits } = await client({ path, query, wait, timeoutMs, signal })
    const { version, generated_at } = isObject(body) ? body : {}
    const generatedAt = readTime(generated_at)
    if (!isVersion(version)) throw badResponse('version')
    if (Number.isNaN(generatedAt)) throw badResponse('generated_at')
    return { version, generatedAt, date, waits, at: clock.monotonic(), wall: clock.wall() }
  }
  const { version } = await ask('/v1/policy/snapshot', {})
  const since = { since: String(version) }
  const first = await ask('/v1/policy/delta', since)
  const began = clock.monotonic()
  const held = await ask('/v1/policy/delta', since, holdSeconds).catch(asKeyrailError)
  const heldMs = clock.monotonic() - began
  const { pause: wait = pause } = clock
  await wait(BETWEEN_MS, signal)
  const last = await ask('/v1/policy/delta', since)

  const clockAheadMs = last.generatedAt - last.wall
  const dateAheadMs = last.date === undefined ? null : last.date - last.generatedAt
  const hold =
    held instanceof Error ? { failed: held.code } : { isChanged: held.version !== version, ...held }
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
