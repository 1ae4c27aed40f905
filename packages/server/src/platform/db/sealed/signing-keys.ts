import { Refusal } from '../../refusal.ts'
import { refusalOf } from '../errors.ts'
import { connectPrimary } from '../failover/timeline.ts'
import { destroySocket } from '../pool/destroy-socket.ts'
import type { Chore } from '../upkeep.ts'
import { placeOf, type Query, queryOf, sealPlain, signingKeys } from './columns.ts'
import type { SealedStore } from './store.ts'

/** A key that signs embed tokens. The database stores it sealed. */
export interface StoredSigningKey {
  kid: string
  /** PKCS #8, DER. */
  privateKey: Buffer
  /** Milliseconds from now until the key signs; zero or less: it may sign now. */
  signsInMs: number
  /** Milliseconds from now until no token of the key is accepted; null while the key has no successor. */
  endsInMs: number | null
}

export type NewSigningKey = Pick<StoredSigningKey, 'kid' | 'privateKey'>

/** How long other services may keep the published set, in seconds. */
export const jwksMaxAgeS = 300
/** How long a process may use the set of keys that it has read, in seconds. */
export const readAgainS = 60
/**
 * The time from publication to first use: by then the new set has reached every process, and older sets have left every cache.
 */
export const publishedBeforeS = jwksMaxAgeS + readAgainS
/** The time from the successor's first use until a key ends: tokens live five minutes, and caches keep the set as long. */
export const keptAfterS = 600
/** The time from a key's first use until its successor takes over, in seconds: 30 days. */
export const signsForS = 30 * 86_400

const read = `
  select kid, sealed,
    round(extract(epoch from signs_from - service_now()) * 1000)::float8 as signs_in_ms,
    round(extract(epoch from lead(signs_from) over (order by signs_from, kid) - service_now()) * 1000)::float8
      + ${keptAfterS * 1_000} as ends_in_ms
  from signing_keys order by signs_from, kid`
const lock = `select pg_advisory_xact_lock(hashtextextended('keyrail.signing_keys', 0))`
const insert = `insert into signing_keys (kid, sealed, signs_from)
  values ($1, $2, service_now() + make_interval(secs => $3)) returning signs_from`

const removeEnded = `
  delete from signing_keys where kid in (
    select kid from (select kid, lead(signs_from) over (order by signs_from, kid) as succeeded_at from signing_keys) k
    where succeeded_at < service_now() - make_interval(secs => ${keptAfterS}))`

/** Removes keys of which no token is accepted any more. */
export const pruneSigningKeys: Chore = {
  name: 'signing keys',
  run: async client => (await client.query(removeEnded)).rowCount ?? 0,
}

/** Reads every key, in the order in which they sign. The first caller makes the first key, which signs at once. */
export async function readSigningKeys(
  store: SealedStore,
  make: () => Promise<NewSigningKey>,
): Promise<StoredSigningKey[]> {
  return await inTurn(store, async query => {
    const there = await query(read)
    if (there.length > 0 && there.every(({ sealed }) => sealed !== null)) return openAll(store, there)
    const key = await make()
    await query(lock)
    // A process of the previous release may have made keys.
    await sealPlain(query, store.sealing, store.plainForS)
    if ((await query(read)).length === 0) await addKey(store, query, key, 0)
    return openAll(store, await query(read))
  })
}

export type Rotation =
  | { kind: 'rotated'; kid: string; signsFrom: Date }
  /** The newest key does not sign yet. */
  | { kind: 'waiting'; kid: string; signsInMs: number }
  /** A process of the previous release may still run, and could not read the key. */
  | { kind: 'upgrading' }

/** Adds a key that takes over once it has been published long enough. */
export const addSigningKey = (store: SealedStore, key: NewSigningKey): Promise<Rotation> =>
  inTurn(store, async query => await rotate(store, query, key, await lockNewest(query)))

/** Makes a successor for a key that has signed long enough. One of the processes does this for all. */
export const rotateSigningKeys = (store: SealedStore, make: () => Promise<NewSigningKey>): Chore => ({
  name: 'signing key rotation',
  run: () =>
    inTurn(store, async query => {
      const last = await lockNewest(query)
      if (last === undefined || !isDue(last)) return 0
      const { kind } = await rotate(store, query, await make(), last)
      return kind === 'rotated' ? 1 : 0
    }),
})

interface Newest {
  kid: string
  signsInMs: number
  wasPlain: boolean
  /** Whether this key or another one is unsealed. */
  hasPlain: boolean
}

/** A backup from the time of the previous release may have the key unsealed. */
const isDue = ({ signsInMs, wasPlain }: Newest) => wasPlain || -signsInMs >= signsForS * 1_000

async function lockNewest(query: Query): Promise<Newest | undefined> {
  await query(lock)
  const [row] = await query(newest)
  if (row === undefined) return undefined
  const { kid, signs_in_ms: signsInMs, was_plain: wasPlain, has_plain: hasPlain } = row
  return {
    kid: String(kid),
    signsInMs: Number(signsInMs),
    wasPlain: wasPlain === true,
    hasPlain: hasPlain === true,
  }
}

async function rotate(
  store: SealedStore,
  query: Query,
  key: NewSigningKey,
  last: Newest | undefined,
): Promise<Rotation> {
  if (last?.hasPlain) return { kind: 'upgrading' }
  if (last !== undefined && last.signsInMs > 0) {
    return { kind: 'waiting', kid: last.kid, signsInMs: last.signsInMs }
  }
  const signsFrom = await addKey(store, query, key, last === undefined ? 0 : publishedBeforeS)
  return { kind: 'rotated', kid: key.kid, signsFrom }
}

const newest = `
  select kid, round(extract(epoch from signs_from - service_now()) * 1000)::float8 as signs_in_ms,
    plain_until is not null as was_plain, (select bool_or(private_key is not null) from signing_keys) as has_plain
  from signing_keys order by signs_from desc, kid desc limit 1`

/** @returns the time from which it signs. */
async function addKey(
  { sealing }: SealedStore,
  query: Query,
  { kid, privateKey }: NewSigningKey,
  publishedS: number,
): Promise<Date> {
  const sealed = sealing.seal(placeOf(signingKeys, kid), privateKey)
  const [row] = await query(insert, [kid, sealed, publishedS])
  return row?.signs_from as Date
}

/** A request may wait for this read, so it ends earlier than the request must, by this time. */
const marginMs = 200

async function inTurn<T>(store: SealedStore, work: (query: Query) => Promise<T>): Promise<T> {
  const answerMs = store.requestMs - marginMs
  const silent = Promise.withResolvers<never>()
  const timer = setTimeout(() => silent.reject(new Refusal('unavailable')), answerMs)
  const running = workAlone(store, work, answerMs, silent.promise)
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
  { connection }: SealedStore,
  work: (query: Query) => Promise<T>,
  answerMs: number,
  silent: Promise<never>,
) {
  const client = await connectPrimary(connection, 'signing keys', false)
  // A connection that has fallen silent would never end by itself.
  silent.catch(() => destroySocket(client))
  try {
    await client.query(`begin; set local statement_timeout = ${answerMs}`)
    const result = await work(queryOf(client))
    await client.query('commit')
    return result
  } finally {
    // Uncommitted work is rolled back with it.
    await client.end()
  }
}

const openAll = ({ sealing }: SealedStore, rows: readonly Record<string, unknown>[]): StoredSigningKey[] =>
  rows.map(row => ({
    kid: String(row.kid),
    privateKey: sealing.open(placeOf(signingKeys, String(row.kid)), row.sealed as Buffer),
    signsInMs: Number(row.signs_in_ms),
    endsInMs: row.ends_in_ms === null ? null : Number(row.ends_in_ms),
  }))
