import type pg from 'pg'
import type { Logger } from '../log.ts'
import type { Connection } from './connection.ts'
import { connectPrimary } from './timeline.ts'

/** Removes what is kept no longer, in small batches, or renews what is due. Sees every workspace, as the role that owns the tables. */
export interface Chore {
  name: string
  /** @returns how many rows went, or were made. */
  run(client: pg.ClientBase): Promise<number>
}

/** Between two rounds; the first comes after a part of it, so that processes started together take turns. */
const everyMs = 5 * 60_000
const turn = `select pg_try_advisory_lock(hashtextextended('keyrail.upkeep', 0)) as mine`

/** One round of all chores, unless another process is at it. */
export async function doChores(
  connection: Connection,
  chores: readonly Chore[],
  log: Logger,
  signal?: AbortSignal,
): Promise<void> {
  const client = await connectPrimary(connection, 'upkeep', false)
  try {
    await client.query(`set statement_timeout = '30s'; set lock_timeout = '1s'`)
    const { rows } = await client.query(turn)
    if (rows[0].mine !== true) return
    for (const { name, run } of chores) {
      if (signal?.aborted) return
      const rows = await run(client)
      if (rows > 0) log.info({ chore: name, rows }, 'upkeep')
    }
  } finally {
    await client.end()
  }
}

/** @returns a function that ends it, and waits for the chore under way. */
export function startUpkeep(
  connection: Connection,
  chores: readonly Chore[],
  log: Logger,
  randomBytes: (size: number) => Buffer,
): () => Promise<void> {
  const stopped = new AbortController()
  let timer: NodeJS.Timeout
  let round = Promise.resolve()
  const plan = (ms: number) => {
    timer = setTimeout(() => {
      round = doChores(connection, chores, log, stopped.signal)
        // The store is away: the next round does what this one has not.
        .catch(error => log.warn({ err: error }, 'upkeep failed'))
        .then(() => (stopped.signal.aborted ? undefined : plan(everyMs)))
    }, ms).unref()
  }
  plan(everyMs * (0.1 + (0.4 * (randomBytes(1)[0] ?? 0)) / 256))
  return async () => {
    stopped.abort()
    clearTimeout(timer)
    await round
  }
}

/** Repeats a statement that removes a batch and tells how many rows went, until there are none. */
export async function untilNone(batch: () => Promise<number>): Promise<number> {
  let removed = 0
  for (let some = await batch(); some > 0; some = await batch()) removed += some
  return removed
}
