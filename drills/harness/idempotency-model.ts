/**
 * What the idempotency calls must answer, independent of the service's way to do it: a record in memory alone, one call
 * at a time. Answers of simultaneous calls are correct when some order of the calls explains all of them.
 */
export type Call =
  | { readonly name: 'claim'; readonly fingerprint: string; readonly ttlMs: number | null }
  | {
      readonly name: 'complete'
      readonly token: string
      readonly status: number
      readonly body: string | null
      readonly ttlMs: number | null
    }
  | { readonly name: 'release'; readonly token: string }
  | { readonly name: 'heartbeat'; readonly token: string }

/** The body of a 200; null: unknown, the service answered 503. */
export type CallAnswer = Readonly<Record<string, unknown>> | null

/** Null: there is no record. */
export type ModelState = {
  readonly fingerprint: string
  /** Null: the token of a claim whose answer was lost. */
  readonly token: string | null
  readonly lockedUntil: number
  readonly expiresAt: number
  readonly ttlMs: number
  readonly answer: { readonly status: number; readonly body: string | null } | null
} | null

const lockMs = 30_000
const ttlMsDefault = 86_400_000
const hourMs = 3_600_000

/** @returns the possible states after a call with this answer; none where the answer is impossible. */
function explain(state: ModelState, call: Call, answer: CallAnswer, now: number): ModelState[] {
  const [verdict, next] = call.name === 'claim' ? claimed(state, call, answer, now) : ended(state, call, now)
  if (answer === null) return [state, next]
  const { object: _, ...said } = answer
  return sameFields(said, verdict) ? [next] : []
}

type Explained = [verdict: Record<string, unknown>, next: ModelState]

function claimed(
  state: ModelState,
  { fingerprint, ttlMs }: Call & { name: 'claim' },
  answer: CallAnswer,
  now: number,
): Explained {
  if (state === null || isOver(state, now)) return taken(fingerprint, ttlMs, answer, now)
  if (state.fingerprint !== fingerprint) return [{ verdict: 'mismatch' }, state]
  const stored = state.answer
  if (stored === null) {
    if (state.lockedUntil <= now) return taken(fingerprint, ttlMs, answer, now)
    return [{ verdict: 'in_progress', retry_after_ms: state.lockedUntil - now }, state]
  }
  const { status, body } = stored
  if (body === null) return [{ verdict: 'not_replayable', status }, state]
  return [{ verdict: 'replay', response: { status, headers: headersOf(status), body } }, state]
}

/** The service draws the token; the rest of the answer is known. */
function taken(fingerprint: string, ttlMs: number | null, answer: CallAnswer, now: number): Explained {
  const token = typeof answer?.lock_token === 'string' ? answer.lock_token : null
  const ttl = ttlMs ?? ttlMsDefault
  const lockedUntil = now + lockMs
  return [
    { verdict: 'execute', lock_token: token, lock_expires_at: new Date(lockedUntil).toISOString() },
    { fingerprint, token, lockedUntil, expiresAt: now + ttl, ttlMs: ttl, answer: null },
  ]
}

function ended(state: ModelState, call: Exclude<Call, { name: 'claim' }>, now: number): Explained {
  if (state === null || state.token !== call.token) return [{ verdict: 'lost' }, state]
  if (call.name === 'complete') {
    if (state.answer !== null) return [{ verdict: 'completed' }, state]
    const { status, body } = call
    const ttlMs = call.ttlMs ?? state.ttlMs
    return [{ verdict: 'completed' }, { ...state, ttlMs, expiresAt: now + ttlMs, answer: { status, body } }]
  }
  if (state.answer !== null) return [{ verdict: 'lost' }, state]
  if (call.name === 'release') return [{ verdict: 'released' }, null]
  const lockedUntil = now + lockMs
  return [
    { verdict: 'extended', lock_expires_at: new Date(lockedUntil).toISOString() },
    { ...state, lockedUntil },
  ]
}

/** Headers that a completion of a history stores, so that a replay shows whose answer it is. */
export const headersOf = (status: number) => ({ 'x-status': String(status) })

const isOver = ({ expiresAt, lockedUntil, answer }: NonNullable<ModelState>, now: number) =>
  expiresAt <= now && (answer !== null || lockedUntil <= now)

const sameFields = (a: unknown, b: unknown) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .toSorted(([x], [y]) => (x < y ? -1 : 1))
          .map(([name, inner]) => [name, sorted(inner)]),
      )
    : value

/** All states that some order of simultaneous calls leads to; none where no order explains their answers. */
export function explainAll(
  states: readonly ModelState[],
  answered: readonly { readonly call: Call; readonly answer: CallAnswer }[],
  now: number,
): ModelState[] {
  if (answered.length === 0) return distinct(states)
  const possible = answered.flatMap(({ call, answer }, i) => {
    const after = states.flatMap(state => explain(state, call, answer, now))
    return after.length === 0 ? [] : explainAll(distinct(after), answered.toSpliced(i, 1), now)
  })
  return distinct(possible)
}

const distinct = (states: readonly ModelState[]): ModelState[] => [
  ...new Map(states.map(state => [JSON.stringify(state), state])).values(),
]

/** Upkeep may have deleted an expired record, from the full hour after its expiry on. */
export const withPruned = (states: readonly ModelState[], now: number): ModelState[] =>
  states.some(
    state =>
      state !== null && isOver(state, now) && (Math.floor(state.expiresAt / hourMs) + 1) * hourMs <= now,
  )
    ? distinct([...states, null])
    : [...states]
