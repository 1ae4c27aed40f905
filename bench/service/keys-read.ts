import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFault } from '../harness/bench.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'

/** A backend reports its reads at most once a second, and when idle 10 s later: `PGSTAT_IDLE_INTERVAL`. */
const TELL_EVERY_MS = 1_100
const LOOKS_MAX = 12

/**
 * Rows of api_keys that Postgres has read since it started, once every backend of the service has reported.
 *
 * @param least at least this many reads must have happened; the function waits for them
 * @param stir uses each connection of the service's pool without reading keys, so that it reports
 * @throws BenchFault when fewer were read: then the counters cannot be trusted
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
  throw new BenchFault(`Postgres reports ${before} rows read, but at least ${least} were`)
}
