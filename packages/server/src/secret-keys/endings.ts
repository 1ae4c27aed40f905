import type { Clock } from '../platform/clock.ts'
import { Deadline } from '../platform/concurrency/deadline.ts'
import { type Db, unbound } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool/pool.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import { endNextBatch } from './ending.ts'
import { listNextEndings, takeUpEnding } from './ending-sql.ts'
import type { Maker } from './made-sql.ts'

/** Ends what ended makers have made. */
export interface Endings {
  /**
   * Ends batch after batch for about a second. What then remains to end, or remains after a failure, some process ends later.
   * It acts on no caller's right, since a secret key may have revoked itself.
   */
  follow(workspaceId: string, maker: Maker): Promise<void>
  /** Continues unfinished endings of any process. Each process calls this from time to time. */
  resume(): Promise<void>
  /** Waits for the running batch. */
  close(): Promise<void>
}

interface EndingsParts {
  readonly pool: Pick<Pool, 'bind'>
  readonly clock: Clock
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
  readonly log: Logger
}

const waits = 'the keys and invitations of an ended maker end later'
/** How long an answer waits for the batches. */
const followMs = 1_000
/** How often each process looks for unfinished endings. */
const lookMs = 10_000
/** How many endings it continues in one look, each of another workspace. */
const foundMax = 20
/** How long it works on each ending, so that no ending delays all later ones. */
const turnMs = 5_000

export function openEndings({ pool, clock, makeId, randomBytes, log }: EndingsParts): Endings {
  const party = { kind: 'service', name: 'endings' } as const
  const answering = pool.bind({ ...unbound, party, isConfirmed: true })
  const own = pool.bind({ ...unbound, party })
  const needs = { clock, randomBytes }
  const closing = new AbortController()

  const followBy = async (db: Db, workspaceId: string, maker: Maker, deadline: Deadline): Promise<void> => {
    const batch = () =>
      db.inWorkspace(workspaceId, tx => endNextBatch(needs, tx, maker), { changesRights: true })
    while (!closing.signal.aborted && deadline.leftMs() > 0 && (await batch()));
  }
  const takeTurn = async (workspaceId: string, maker: Maker): Promise<void> => {
    if (await own.inWorkspace(workspaceId, tx => takeUpEnding(tx, maker)))
      await followBy(own, workspaceId, maker, new Deadline(turnMs))
  }
  const resume = async (): Promise<void> => {
    // In no workspace: the rows belong to many workspaces, and the function shows only ids.
    const undone = await own.readAtOnce(makeId(), tx => listNextEndings(tx, foundMax))
    for (const { workspaceId, maker } of undone) {
      if (closing.signal.aborted) return
      await takeTurn(workspaceId, maker).catch(error =>
        log.warn({ err: error, workspace_id: workspaceId, maker }, waits),
      )
    }
  }

  let looking: Promise<void> | null = null
  const timer = setInterval(() => {
    // One look at a time, however long it takes.
    looking ??= resume()
      .catch(error => log.warn({ err: error }, 'endings that are not done could not be listed'))
      .finally(() => {
        looking = null
      })
  }, lookMs).unref()
  return {
    follow: (workspaceId, maker) =>
      followBy(answering, workspaceId, maker, new Deadline(followMs)).catch(error =>
        log.warn({ err: error, workspace_id: workspaceId, maker }, waits),
      ),
    resume,
    async close() {
      closing.abort()
      clearInterval(timer)
      await looking
    },
  }
}
