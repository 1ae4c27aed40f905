import { Refusal } from '../refusal.ts'
import { type Connection, connect } from './connection.ts'
import { deadlineMs } from './deadline.ts'
import { refusalOf } from './errors.ts'
import type { Chore } from './upkeep.ts'

/** A key that signs embed tokens, as it is stored. */
export interface StoredSigningKey {
  kid: string
  /** PKCS #8, DER. */
  privateKey: Buffer
  /** Milliseconds from now until it signs; not positive once it may. */
  signsInMs: number
  /** Milliseconds from now until nothing that it has signed is taken; null while it has no successor. */
  endsInMs: number | null
}

export type NewSigningKey = Pick<StoredSigningKey, 'kid' | 'privateKey'>

/** How long other services may keep the published set, in seconds. */
export const jwksMaxAgeS = 300
/** How long a process may go by what it has read, in seconds. */
export const readAgainS = 60
/** From publication to first use: the set has reached every process and has then left every cache. */
export const publishedBeforeS = jwksMaxAgeS + readAgainS
/** From the successor's first use: tokens live five minutes, and caches of the set as long. The rest is slack. */
export const keptAfterS = 3_600

const read = `
  select kid, private_key,
    round(extract(epoch from signs_from - service_now()) * 1000)::float8 as signs_in_ms,
    round(extract(epoch from lead(signs_from) over (order by signs_from, kid) - service_now()) * 1000)::float8
      + ${keptAfterS * 1_000} as ends_in_ms
  from signing_keys order by signs_from, kid`
const lock = `select pg_advisory_xact_lock(hashtextextended('keyrail.signing_keys', 0))`
const insert = `insert into signing_keys (kid, private_key, signs_from)
  values ($1, $2, service_now() + make_interval(secs => $3)) returning signs_from`

const removeEnded = `
  delete from signing_keys where kid in (
    select kid from (select kid, lead(signs_from) over (order by signs_from, kid) as succeeded_at from signing_keys) k
    where succeeded_at < service_now() - make_interval(secs => ${keptAfterS}))`

/** Keys of which nothing that they have signed is taken any more. */
export const pruneSigningKeys: Chore = {
  name: 'signing keys',
  run: async client => (await client.query(removeEnded)).rowCount ?? 0,
}

/** Every key, in the order in which they sign. The first who asks makes the first one, which signs at once. */
export async function readSigningKeys(
  connection: Connection,
  make: () => Promise<NewSigningKey>,
): Promise<StoredSigningKey[]> {
  return await inTurn(connection, async query => {
    const there = toKeys(await query(read))
    if (there.length > 0) return there
    const key = await make()
    await query(lock)
    if ((await query(read)).length === 0) await query(insert, [key.kid, key.privateKey, 0])
    return toKeys(await query(read))
  })
}

export type Rotation =
  | { kind: 'rotated'; kid: string; signsFrom: Date }
  /** One that was made before does not sign yet. */
  | { kind: 'waiting'; kid: string; signsInMs: number }

/** Adds a key that takes over once it has been published long enough. */
export async function addSigningKey(connection: Connection, key: NewSigningKey): Promise<Rotation> {
  return await inTurn(connection, async query => {
    await query(lock)
    const there = toKeys(await query(read))
    const waiting = there.find(({ signsInMs }) => signsInMs > 0)
    if (waiting !== undefined) return { kind: 'waiting', kid: waiting.kid, signsInMs: waiting.signsInMs }
    const secondsLeft = there.length === 0 ? 0 : publishedBeforeS
    const [row] = await query(insert, [key.kid, key.privateKey, secondsLeft])
    return { kind: 'rotated', kid: key.kid, signsFrom: row?.signs_from as Date }
  })
}

type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

/** A request may wait for it, so it ends before a request must. */
const answerMs = deadlineMs - 200

async function inTurn<T>(connection: Connection, work: (query: Query) => Promise<T>): Promise<T> {
  const silent = Promise.withResolvers<never>()
  const timer = setTimeout(() => silent.reject(new Refusal('unavailable')), answerMs)
  const running = workAlone(connection, work, silent.promise)
  try {
    return await Promise.race([running, silent.promise])
  } catch (error) {
    running.catch(() => {})
    throw refusalOf(error)
  } finally {
    clearTimeout(timer)
  }
}

async function workAlone<T>(
  connection: Connection,
  work: (query: Query) => Promise<T>,
  silent: Promise<never>,
) {
  const client = await connect(connection, 'signing keys', false)
  // A connection that has fallen silent would never end by itself.
  silent.catch(() =>
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy(),
  )
  try {
    await client.query(`begin; set local statement_timeout = ${answerMs}`)
    const result = await work(async (text, values) => (await client.query(text, values)).rows)
    await client.query('commit')
    return result
  } finally {
    // What is not committed is rolled back with it.
    await client.end()
  }
}

const toKeys = (rows: readonly Record<string, unknown>[]): StoredSigningKey[] =>
  rows.map(row => ({
    kid: String(row.kid),
    privateKey: row.private_key as Buffer,
    signsInMs: Number(row.signs_in_ms),
    endsInMs: row.ends_in_ms === null ? null : Number(row.ends_in_ms),
  }))
