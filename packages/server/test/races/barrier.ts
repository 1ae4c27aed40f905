import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Harness } from '../harness.ts'

/** A third connection, which holds locks that a race must wait for. */
export interface Barrier {
  /** Runs a statement in a transaction that stays open, and so keeps its locks. */
  hold(text: string, values?: unknown[]): Promise<void>
  /**
   * Waits until this many wait: statements for a lock of the barrier, statements behind those, and then transactions
   * for their turn. Waits with another cause do not count: the first request must be at the barrier before the second starts.
   * @param given rejects if that can no longer happen; the wait then ends with the same error.
   */
  untilWaiting(most: number, given?: Promise<never>): Promise<void>
  /** Releases all locks. */
  release(): Promise<void>
}

/** The pause between two counts, in milliseconds. */
const lookEveryMs = 2
/** Far longer than the service itself would wait: the race did not reach the point that the test wants. */
const looksMost = 20_000

export async function openBarrier({ connection, deps, query }: Harness): Promise<Barrier> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  after(() => client.end())
  const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows as [{ pid: number }]
  let open = false
  return {
    async hold(text, values) {
      if (!open) await client.query('begin')
      open = true
      await client.query(text, values)
    },
    async untilWaiting(most, given) {
      for (let looks = 0; looks < looksMost; looks += 1) {
        const [{ waiting }] = (await query(
          `with recursive behind(pid) as (
             values ($1::int)
             union
             select a.pid from pg_stat_activity a join behind on behind.pid = any(pg_blocking_pids(a.pid))
             where a.wait_event_type = 'Lock'
           )
           select count(*)::int - 1 as waiting from behind`,
          [pid],
        )) as [{ waiting: number }]
        if (waiting > 0 && waiting + deps.pool.depth().waiting >= most) return
        await Promise.race([sleep(lookEveryMs), ...(given === undefined ? [] : [given])])
      }
      throw new Error(`${most} never waited at once`)
    },
    async release() {
      open = false
      await client.query('rollback')
    },
  }
}

/**
 * Makes two requests meet: the first runs until it waits for a lock of the barrier, then the second until it waits
 * too, there or behind the first. Then both continue, the first one first.
 * @throws at once if a request is answered before it waits, with its place and its answer.
 */
export async function meet<T>(
  barrier: Barrier,
  [text, values]: [string, unknown[]],
  requests: readonly (() => Promise<T>)[],
): Promise<T[]> {
  await barrier.hold(text, values)
  const running: Promise<T>[] = []
  const { promise: early, reject } = Promise.withResolvers<never>()
  early.catch(() => {})
  try {
    for (const [i, request] of requests.entries()) {
      const one = request()
      running.push(one)
      one.then(
        answer => reject(new Error(`request ${i + 1} was answered before it waited: ${inWords(answer)}`)),
        error => reject(new Error(`request ${i + 1} failed before it waited`, { cause: error })),
      )
      await barrier.untilWaiting(running.length, early)
    }
  } finally {
    await barrier.release()
    await Promise.allSettled(running)
  }
  return Promise.all(running)
}

/** An answer of the API as its status and body; anything else as JSON. */
function inWords(answer: unknown): string {
  const { status, body } = (answer ?? {}) as { status?: unknown; body?: unknown }
  return status === undefined ? `${JSON.stringify(answer)}` : `${status} ${JSON.stringify(body)}`
}

export const auditHeadOf = (workspaceId: string): [string, unknown[]] => [
  'select seq from audit_heads where workspace_id = $1 for update',
  [workspaceId],
]
export const policyHeadOf = (projectId: string): [string, unknown[]] => [
  'select version from policy_heads where project_id = $1 for update',
  [projectId],
]
