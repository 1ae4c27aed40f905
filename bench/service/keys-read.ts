import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFault } from '../harness/bench.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'

/** A backend tells of what it has read at most once a second, and when it idles 10 s later: `PGSTAT_IDLE_INTERVAL`. */
const TELL_EVERY_MS = 1_100
const LOOKS_MAX = 12

/**
 * Rows of api_keys that Postgres has read since it was started, once every backend of the service has told.
 *
 * @param least as many must have been read; the looks go on until they have
 * @param stir uses each connection of the service's pool without reading keys, so that it tells
 * @throws BenchFault when fewer were read: the counters are not to be believed then
 */
export async function settledKeyReads(
  { query }: ScratchPostgres,
  least: number,
  stir: () => Promise<unknown>,
): Promise<number> {
  let before = -1
  for (let look = 0; look < LOOKS_MAX; look++) {
    await sleep(TELL_EVERY_MS)
    await stir()
    const [row] = await query(
      `select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8 as read
       from pg_stat_user_tables where relname = 'api_keys'`,
    )
    const read = Number(row?.read)
    if (read >= least && read === before) return read
    before = read
  }
  throw new BenchFault(`Postgres tells of ${before} rows read, at least ${least} must have been`)
}
