import { Refusal } from '../platform/refusal.ts'

/**
 * Keys and secret keys that are revoked or expired. They stay to be read, but each costs what ends their makers and every
 * backup, and any number can be made by a thief, so there are bounds. At a bound the oldest make space for new ones.
 */

/** How many ended ones there may be for each active one that there may be. */
const endedForActive = 10
export const endedMax = (activeMax: number): number => endedForActive * activeMax

/** How long they stay after their end. */
const keptDays = 90

const longAgo = `service_now() - interval '${keptDays} days'`
/** The end of the key `k`. */
export const byEndSql = 'least(k.revoked_at, k.expires_at)'
/**
 * SQL for since when nothing has happened to the ended key or secret key `k`, as the indexes `…_by_rest` have it. One may be made with an
 * expiry in the past, be revoked long after it expired, or be imported long after its end: by its end alone, it would come first and not
 * be deleted.
 */
export const restSql = {
  key: `greatest(${byEndSql}, k.created_at, k.revoked_at, k.imported_at)`,
  secretKey: `greatest(${byEndSql}, k.created_at, k.revoked_at)`,
}
/** SQL for whether it ended so long ago that nothing needs it. */
export const isLongEndedSql = (of: keyof typeof restSql): string =>
  `(k.revoked_at is not null or k.expires_at is not null)
     and ${restSql[of]} < (select ${longAgo})`

/** SQL for whether the key `k` has ended. A query around the clock runs once, the function would for each row. */
export const hasEndedSql = '(k.revoked_at is not null or k.expires_at <= (select service_now()))'
/** SQL for whether a code host has reported the key `k`: then it stays until its letters are sent. */
export const isLeakedSql = `exists (select from leak_reports l
       where l.workspace_id = k.workspace_id and l.credential_id = k.id)`

/**
 * Whose ended keys make space, by a number that SQL calls `turn`: first those that revoked secret keys made, then those of the same maker,
 * who may be a thief, and only then those of others.
 */
const turns = { revoked: 0, same: 1, other: 2 } as const
/**
 * SQL for the turn of a key.
 * @param maker the row of the secret key that made it, in a left join.
 * @param isSame SQL for whether the new key has the same maker.
 */
export const turnSql = (maker: string, isSame: string): string =>
  `case when ${maker}.revoked_at is not null then ${turns.revoked} when ${isSame} then ${turns.same}
     else ${turns.other} end`

export interface EndedRow {
  id: string
  turn: number
}
/**
 * Which keys make space: a batch of those in the first turn, and of others' keys no more than needed.
 * @param rows in the order of their turns, the oldest first.
 */
export function makeWay(rows: readonly EndedRow[], needed: number): string[] {
  const turn = rows[0]?.turn
  const found = rows.filter(row => row.turn === turn).map(({ id }) => id)
  return turn === turns.other ? found.slice(0, needed) : found
}

/** Who makes a key. */
export interface Maker {
  /** The id of the person or the secret key; null for another one. */
  readonly id: string | null
  /** Whether the maker goes on where no space can be made: an owner, and every rotation. */
  readonly passes: boolean
}

/**
 * For a cap of ended keys at which none can be deleted.
 * @param owner what has the keys.
 */
export const tooManyEnded = (owner: string, keys: 'keys' | 'secret keys', activeMax: number): Refusal =>
  new Refusal(
    'key_limit_reached',
    `The ${owner} has ${endedMax(activeMax)} revoked or expired ${keys}, which is the limit, and none of them can be deleted yet. An owner of the workspace can go on.`,
  )
