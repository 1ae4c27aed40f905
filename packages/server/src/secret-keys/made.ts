import type { Cascade, Descendants } from '@keyrail/contract/vendor/secret-keys'
import type { Caller } from '../gate/caller.ts'
import { sightOf } from '../gate/principal.ts'
import type { Db } from '../platform/db/db.ts'
import { type Cursors, page } from '../platform/paging/cursor.ts'
import { type CascadeRow, readCascade } from './ending-sql.ts'
import { type Maker, readMade } from './made-sql.ts'
import { toSecretKey } from './resource.ts'

/** What a maker that has ended had made, and how much of it has ended. */
export interface Made {
  made: Descendants
  cascade: Cascade
}

/** The most keys in one answer; `GET /v1/secret_keys?made_by=` continues from its cursor. */
const shownMax = 200

export const nothingMade: Made = {
  made: { count: 0, data: [], next_cursor: null },
  cascade: { state: 'done', revoked: 0, remaining: 0 },
}

/**
 * @param withEnded also keys that ended with a maker; otherwise only working keys.
 * @param evenDone whether the caller has just ended the maker; otherwise a cascade counts only while it runs.
 */
export async function showMade(
  { deps: { cursors }, db, principal }: Caller<{ readonly cursors: Cursors }>,
  maker: Maker,
  withEnded: boolean,
  evenDone = true,
): Promise<Made> {
  const { workspaceId } = principal
  const [{ count, rows }, cascade] = await db.readAtOnce(workspaceId, tx =>
    Promise.all([
      readMade(tx, maker, sightOf(principal), withEnded, shownMax),
      readCascade(tx, maker, evenDone),
    ]),
  )
  const seal = (last: { id: string }) => cursors.seal('secret_keys', workspaceId, last.id)
  const { data, next_cursor } = page(rows, shownMax, toSecretKey, seal)
  return {
    made: { count, data, next_cursor },
    cascade: cascade === null ? nothingMade.cascade : toCascade(cascade),
  }
}

export const toCascade = ({ is_done, secret_keys_revoked, remaining }: CascadeRow): Cascade => ({
  state: is_done ? 'done' : 'running',
  revoked: secret_keys_revoked,
  remaining,
})

/** How many working keys descend from the maker, in both environments. */
export async function countMade(db: Db, workspaceId: string, maker: Maker): Promise<number> {
  const all = { envs: ['live', 'test'], projectIds: null } as const
  const { count } = await db.readAtOnce(workspaceId, tx => readMade(tx, maker, all, false, 1))
  return count
}
