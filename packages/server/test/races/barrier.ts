import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Harness } from '../harness.ts'

/** A third connection, which holds locks that a race is made to wait for. */
export interface Barrier {
  /** Runs a statement in a transaction that stays open, and so holds what it locked. */
  hold(text: string, values?: unknown[]): Promise<void>
  /** Until so many wait: statements for a lock, the barrier's or one another's, and transactions for their turn. */
  untilWaiting(most: number): Promise<void>
  /** Lets go of everything. */
  release(): Promise<void>
}

/** How often the waiting are counted, in milliseconds; the count decides, not the time. */
const lookEveryMs = 2
/** Far longer than the service itself would wait: the race did not come to where the test wants it. */
const looksMost = 10_000

export async function openBarrier({ connection, deps, query }: Harness): Promise<Barrier> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  after(() => client.end())
  let open = false
  return {
    async hold(text, values) {
      if (!open) await client.query('begin')
      open = true
      await client.query(text, values)
    },
    async untilWaiting(most) {
      for (let looks = 0; looks < looksMost; looks += 1) {
        const [{ waiting }] = (await query(
          `select count(*)::int as waiting from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        )) as [{ waiting: number }]
        if (waiting + deps.db.depth().waiting >= most) return
        await sleep(lookEveryMs)
      }
      throw new Error(`never ${most} waited at once`)
    },
    async release() {
      open = false
      await client.query('rollback')
    },
  }
}

/**
 * Makes two requests meet: the first is let run until it waits at what the barrier holds, then the second until
 * it waits too, there or behind the first. Then both go on, the first one first.
 */
export async function meet<T>(
  barrier: Barrier,
  [text, values]: [string, unknown[]],
  requests: readonly (() => Promise<T>)[],
): Promise<T[]> {
  await barrier.hold(text, values)
  const running: Promise<T>[] = []
  try {
    for (const request of requests) {
      running.push(request())
      await barrier.untilWaiting(running.length)
    }
  } finally {
    await barrier.release()
  }
  return Promise.all(running)
}

export const auditHeadOf = (workspaceId: string): [string, unknown[]] => [
  'select seq from audit_heads where workspace_id = $1 for update',
  [workspaceId],
]
export const policyHeadOf = (projectId: string): [string, unknown[]] => [
  'select version from policy_heads where project_id = $1 for update',
  [projectId],
]
