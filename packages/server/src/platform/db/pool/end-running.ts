import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { cancelRunning } from './cancel-request.ts'
import { destroySocket } from './destroy-socket.ts'

/** The pause after the first CancelRequest, and the longest one: each makes Postgres start a process. Milliseconds. */
const firstPauseMs = 50
const pauseMsMost = 5_000

/**
 * Ends what runs on a connection that was given up, and then the connection. Postgres ignores a CancelRequest that comes
 * before the statement which it is to end, and such a statement may still be on its way: so it is asked again, with growing
 * pauses, until everything that was sent has its answer, or the connection is lost.
 * @param running settles when nothing is sent on the connection any more, and all of it is answered.
 * @param withinMs how long the caller waits for that. The rest happens without it, and without keeping the process.
 */
export async function endRunning(
  client: pg.Client | pg.PoolClient,
  running: Promise<unknown>,
  withinMs: number,
): Promise<void> {
  let isOver = false
  const end = () => {
    isOver = true
    destroySocket(client)
  }
  const over = running.then(end, end)
  const { connection } = client as unknown as { connection: { stream: { unref(): void } } }
  connection.stream.unref()
  keepOpen(client)
  const cancel = async () => {
    for (let pauseMs = firstPauseMs; !isOver; pauseMs = Math.min(2 * pauseMs, pauseMsMost)) {
      await cancelRunning(client, withinMs)
      await Promise.race([over, sleep(pauseMs, undefined, { ref: false })])
    }
  }
  void cancel()
  await Promise.race([over, sleep(withinMs)])
}

/** A pool ends what it drops: a cut would hide here that Postgres still has a process for it. */
function keepOpen(client: pg.Client | pg.PoolClient): void {
  const end = async (done?: () => void) => done?.()
  client.end = end as typeof client.end
}
