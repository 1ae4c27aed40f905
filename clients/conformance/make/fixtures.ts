import type { PolicyKey } from '@keyrail/contract/feed'
import { id, policyKey, withChecksum } from '../../../packages/sdk/test/keys.ts'
import type { Asked, Json, Step } from '../case.ts'
import { BEGINS_AT, defaults } from '../run.ts'

/** What the cases are made of: keys with right checksums, bodies of the feed, and steps that many cases share. */

/** The version of the first snapshot. */
export const VERSION = 7
export const TTL_MS = 60_000
export const { project } = defaults
export const workspace = id(0xd000)

/** A time of the service, as the feed writes it, so long after the beginning of a case. */
export const at = (milliseconds: number): string => new Date(BEGINS_AT + milliseconds).toISOString()

export const liveKey = (number: number): string => withChecksum(`kr_live_${String(number).padStart(32, '0')}`)
export const testKey = (number: number): string => withChecksum(`kr_test_${String(number).padStart(32, '0')}`)
export const [one, two, three] = [liveKey(1), liveKey(2), liveKey(3)]

export const record = (number: number, more: Partial<PolicyKey> | Json = {}): Json => ({
  ...policyKey(liveKey(number), number),
  ...more,
})
export const testRecord = (number: number, more: Json = {}): Json => ({
  ...policyKey(testKey(number), number),
  ...more,
})
export const upsert = (number: number, more: Json = {}): Json => ({
  change: 'upsert',
  ...record(number, more),
})
export function tombstone(number: number, more: Json = {}): Json {
  const { key_id, env, lookup_hash } = record(number)
  return { change: 'tombstone', key_id, env, lookup_hash, ...more }
}

const head = (version: number, after: number) => ({
  workspace_id: workspace,
  project_id: project,
  env: 'live',
  version,
  project_deleted: false,
  generated_at: at(after),
})

/** @param after when the service makes it, in milliseconds after the beginning */
export const snapshot = (keys: readonly unknown[], more: Json = {}, after = 0, version = VERSION): Json => ({
  object: 'policy_snapshot',
  ...head(version, after),
  keys,
  next_cursor: null,
  ...more,
})

export const delta = (
  since: number,
  version: number,
  changes: readonly unknown[],
  after = 0,
  more: Json = {},
): Json => ({ object: 'policy_delta', ...head(version, after), since, changes, ...more })

/** After an answer that is not held, where another request would follow at once. */
export const AT_ONCE = [0, 100]
/** After the first failure: at random, at most half a second. */
const SOON = [100, 500]

export const asksSnapshot: Asked = {
  path: '/v1/policy/snapshot',
  query: { project_id: project, env: 'live', since: null, cursor: null },
  fresh: true,
}
export const asksDelta = (since: number, more: Asked = {}): Asked => ({
  path: '/v1/policy/delta',
  query: { project_id: project, env: 'live', since: String(since) },
  fresh: true,
  ...more,
})

export const answers = (body: unknown, asked?: Asked): Step => ({
  answer: { body },
  ...(asked && { asked }),
})
export const polls = (outcome: string, more: Json = {}): Step => ({
  do: { op: 'poll' },
  gives: { outcome, reports: [], ...more },
})
export const fails = (code: unknown, more: Json = {}): Step => ({
  do: { op: 'poll' },
  gives: {
    outcome: 'error',
    code,
    ...(typeof code === 'string' && { reports: [code] }),
    delay: SOON,
    ...more,
  },
})
export const verifies = (key: unknown, code: string, more: Json = {}, requires: Json = {}): Step => ({
  do: { op: 'verify', key, ...requires },
  gives: { code, ...more },
})
export const advances = (ms: number, more: Json = {}): Step => ({ do: { op: 'advance', ms, ...more } })

export const serves: Step = { use: 'serves key 1' }
/** A limit of a key. */
export const hour = { id: 'hour', limit: 5, window_ms: 3_600_000, algorithm: 'fixed', scope: 'key' }
/** Keys 1 and 2 of one tenant have it, key 3 has none. */
export const limitedByHour: Step = { use: 'holds keys with a limit' }
export const recoversLate: Step = { use: 'goes stale, and recovers' }
export const recovers: Step = { use: 'starts in the end' }

export const shared: Readonly<Record<string, readonly Step[]>> = {
  'serves key 1': [
    answers(snapshot([record(1)]), asksSnapshot),
    polls('snapshot', { delay: AT_ONCE }),
    verifies(one, 'valid', { key_id: id(1) }),
  ],
  'holds keys with a limit': [
    answers(snapshot([record(1, { rate_limits: [hour] }), record(2, { rate_limits: [hour] }), record(3)])),
    polls('snapshot'),
  ],
  'goes stale, and recovers': [
    verifies(one, 'valid'),
    advances(TTL_MS),
    verifies(one, 'stale'),
    answers(delta(VERSION, VERSION + 1, [upsert(2)], TTL_MS), asksDelta(VERSION, { prefer: null })),
    polls('delta'),
    verifies(one, 'valid'),
    verifies(two, 'valid'),
  ],
  'starts in the end': [
    { do: { op: 'ready' }, gives: { ready: false } },
    verifies(one, 'not_ready'),
    advances(250),
    answers(snapshot([record(1)], {}, 250), asksSnapshot),
    polls('snapshot'),
    { do: { op: 'ready' }, gives: { ready: true } },
    verifies(one, 'valid'),
  ],
}
