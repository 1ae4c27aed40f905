import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { cancelRunning } from './cancel-request.ts'
import { destroySocket } from './destroy-socket.ts'

/** The first and the longest pause between two CancelRequests, each of which makes Postgres start a process. Milliseconds. */
const firstPauseMs = 50
const pauseMsMost = 5_000

/**
 * Ends what runs on a connection that was given up, and then the connection. Postgres ignores a CancelRequest that arrives
 * before its statement, and the statement may still be on its way: so the request is repeated, with growing pauses, until
 * everything that was sent has its answer, or the connection is lost.
 * @param running settles when nothing is sent on the connection any more, and every answer has arrived.
 * @param withinMs how long the caller waits. After that, the requests go on without the caller, and do not keep the process
 * running.
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

/** A pool ends each connection that it drops. To cut the connection would hide that Postgres still has a process for it. */
function keepOpen(client: pg.Client | pg.PoolClient): void {
  const end = async (done?: () => void) => done?.()
  client.end = end as typeof client.end
}
