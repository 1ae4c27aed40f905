import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type Connection, connect } from '../connection.ts'
import { isLockTimeout, isUndone } from '../errors.ts'

/** How long a migration waits for locks, in ms. */
export interface LockPatience {
  /**
   * For one lock. All later requests for the table queue behind the waiting migration, so this time is shorter than a request's
   * budget: the requests go on when it ends.
   */
  readonly lockMs: number
  /** Between two tries. The requests that have queued are answered meanwhile. */
  readonly pauseMs: number
  /** After this long without a lock, the migration fails. */
  readonly giveUpMs: number
}

export const migrationPatience: LockPatience = { lockMs: 1_000, pauseMs: 4_000, giveUpMs: 10 * 60_000 }

/** @param waitS how long all tries may take, in seconds. */
export const patienceOf = (waitS: number): LockPatience => ({ ...migrationPatience, giveUpMs: waitS * 1_000 })

/** Gets a line for the operator: what a migration waits for. */
export type OnWait = (line: string) => void

/** No try got its locks in time. Migrations that were applied before stay applied. */
class LocksHeld extends Error {}

/**
 * Runs work again while it fails because of a lock, and reports who holds the lock.
 * @param client the connection of the work, with `lock_timeout` set; an open transaction is rolled back.
 * @throws {LocksHeld} after `giveUpMs`.
 */
export async function untilUnlocked(
  { connection, client, patience, onWait }: Waiting,
  work: () => Promise<void>,
): Promise<void> {
  const giveUpAt = performance.now() + patience.giveUpMs
  const { rows } = await client.query('select pg_backend_pid() as pid')
  const watch = watchHolders(connection, rows[0].pid, onWait)
  try {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!isLockTimeout(error) && !isUndone(error)) throw error
        await client.query('rollback')
        if (performance.now() >= giveUpAt)
          throw new LocksHeld(tooLong(watch.last(), patience), { cause: error })
      }
      await sleep(patience.pauseMs)
    }
  } finally {
    await watch.stop()
  }
}

export interface Waiting {
  readonly connection: Connection
  readonly client: pg.ClientBase
  readonly patience: LockPatience
  readonly onWait: OnWait
}

const tooLong = (last: string | null, { giveUpMs }: LockPatience) =>
  `${last ?? 'The migration waits for a lock.'}\nIt did not get the lock within ${giveUpMs / 1_000} s (SERVICE_MIGRATE_WAIT_S). ` +
  'What was applied before stays applied: run keyrail migrate again when the holder has ended.'

/** Other users' transactions are hidden from a login without rights; their application names are not. */
const holders = `
  select a.pid, a.application_name as name, a.usename as "user",
    round(extract(epoch from clock_timestamp() - a.xact_start))::int as seconds,
    (select l.relation::regclass::text from pg_locks l where l.pid = $1 and not l.granted limit 1) as relation
  from unnest(pg_blocking_pids($1)) p(pid) join pg_stat_activity a on a.pid = p.pid
  where a.pid <> pg_backend_pid() order by a.pid`

interface Holder {
  pid: number
  name: string
  user: string | null
  seconds: number | null
  relation: string | null
}

const lookEveryMs = 200

/** Looks on another connection which sessions block a process of Postgres, and reports each of them once. */
function watchHolders(connection: Connection, pid: number, onWait: OnWait) {
  const told = new Set<string>()
  const stopped = new AbortController()
  let last: string | null = null
  const look = async () => {
    const client = await connect(connection, 'migrate watch', false)
    try {
      while (!stopped.signal.aborted) {
        const { rows } = await client.query<Holder>(holders, [pid])
        for (const holder of rows) {
          last = describe(holder)
          const key = `${holder.pid} ${holder.relation}`
          if (!told.has(key)) onWait(last)
          told.add(key)
        }
        await sleep(lookEveryMs, null, { signal: stopped.signal })
      }
    } finally {
      await client.end()
    }
  }
  // If the look fails, the work itself reports what is wrong with the database.
  const looking = look().catch(() => {})
  return {
    last: () => last,
    stop: async () => {
      stopped.abort()
      await looking
    },
  }
}

function describe({ pid, name, user, seconds, relation }: Holder): string {
  const place = relation === null ? 'a lock' : `a lock on ${relation}`
  const since = seconds === null ? '' : `, in a transaction for ${seconds} s`
  const who = `${name === '' ? 'a program without a name' : name} (Postgres process ${pid}, user ${user ?? 'unknown'}${since})`
  return `The migration waits for ${place}, which ${who} holds. Requests go on meanwhile.`
}
