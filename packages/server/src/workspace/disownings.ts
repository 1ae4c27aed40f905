import { noteDisowned, placesToDisown, undoneDisownings } from '../people/unproven.ts'
import type { Clock } from '../platform/clock.ts'
import { Deadline } from '../platform/concurrency/deadline.ts'
import { type Db, unbound } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool/pool.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import { beginEnding, endMakers } from '../secret-keys/ending.ts'
import type { Endings } from '../secret-keys/endings.ts'
import { countMade } from '../secret-keys/made.ts'
import { lockStanding } from './unproven-sql.ts'

/** Ends what unproven accounts made, in one workspace after the other. */
export interface Disownings {
  /** Works for about a second. What then remains to end, or remains after a failure, some process ends later. */
  follow(userId: string): Promise<void>
  /** Continues unfinished work of any process. Each process calls this from time to time. */
  resume(): Promise<void>
  /** How many working secret keys of the workspace descend from the person. */
  countKeys(db: Db, workspaceId: string, userId: string): Promise<number>
  close(): Promise<void>
}

interface DisowningParts {
  readonly pool: Pick<Pool, 'bind'>
  readonly endings: Pick<Endings, 'follow'>
  readonly clock: Clock
  readonly makeId: MakeId
  readonly log: Logger
}

const waits = 'what an unproven account made ends later'
const followMs = 1_000
/** How often each process looks for unfinished work. */
const lookMs = 10_000
const foundMax = 20
const turnMs = 5_000
/** How many workspaces are read at once. */
const placesMax = 100

export function openDisownings({ pool, endings, clock, makeId, log }: DisowningParts): Disownings {
  const party = { kind: 'service', name: 'disownings' } as const
  const answering = pool.bind({ ...unbound, party, isConfirmed: true })
  const own = pool.bind({ ...unbound, party })
  const closing = new AbortController()

  /** Begins the end behind the lock of the membership: if the person has kept the workspace meanwhile, nothing ends. */
  const endIn = async (db: Db, workspaceId: string, userId: string): Promise<void> => {
    const maker = { type: 'user', id: userId } as const
    const hasMade = await db.inWorkspace(
      workspaceId,
      async tx => {
        endMakers(tx, [userId])
        if ((await lockStanding(tx, userId))?.unproven !== true) return false
        return await beginEnding(tx, maker, { revokesKeys: true, actor: maker, at: clock.now() })
      },
      { changesRights: true, userId },
    )
    if (hasMade) await endings.follow(workspaceId, maker)
  }
  const followBy = async (db: Db, userId: string, deadline: Deadline): Promise<void> => {
    for (let isDone = false; !isDone; ) {
      const places = await db.asPerson(userId, tx => placesToDisown(tx, placesMax))
      let reached: string | null = null
      for (const workspaceId of places) {
        if (closing.signal.aborted || deadline.leftMs() <= 0) break
        await endIn(db, workspaceId, userId)
        reached = workspaceId
      }
      const isWhole = reached === (places.at(-1) ?? null)
      isDone = isWhole && places.length < placesMax
      await db.asPerson(userId, async tx => noteDisowned(tx, reached, isDone))
      if (!isWhole) return
    }
  }
  const resume = async (): Promise<void> => {
    // In no workspace, because the function shows only ids.
    for (const userId of await own.readAtOnce(makeId(), tx => undoneDisownings(tx, foundMax))) {
      if (closing.signal.aborted) return
      await followBy(own, userId, new Deadline(turnMs)).catch(error =>
        log.warn({ err: error, user_id: userId }, waits),
      )
    }
  }

  let looking: Promise<void> | null = null
  const timer = setInterval(() => {
    // One look at a time, however long it takes.
    looking ??= resume()
      .catch(error => log.warn({ err: error }, 'accounts that disowned what they made could not be listed'))
      .finally(() => {
        looking = null
      })
  }, lookMs).unref()
  return {
    follow: userId =>
      followBy(answering, userId, new Deadline(followMs)).catch(error =>
        log.warn({ err: error, user_id: userId }, waits),
      ),
    resume,
    countKeys: (db, workspaceId, userId) => countMade(db, workspaceId, { type: 'user', id: userId }),
    async close() {
      closing.abort()
      clearInterval(timer)
      await looking
    },
  }
}
