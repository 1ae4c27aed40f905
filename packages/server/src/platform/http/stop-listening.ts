import type { Server } from 'node:http'
import { setImmediate } from 'node:timers/promises'

/** A turn of the event loop that takes longer may have left new connections waiting. */
const turnMs = 0.2
/** How long to wait for a shorter turn, under a load that leaves none. */
const patienceMs = 2_000

/**
 * Closes a server in a turn of the event loop that found no new connection. Node takes one connection a turn. The kernel resets
 * connections that still wait, together with requests on them, which a proxy may not repeat.
 */
export async function stopListening(server: Server): Promise<void> {
  let opened = 0
  const count = () => {
    opened += 1
  }
  server.on('connection', count).on('drop', count)
  // From here on each turn is a whole turn.
  await setImmediate()
  const latest = performance.now() + patienceMs
  for (let isQuiet = false; !isQuiet; ) {
    const [before, began] = [opened, performance.now()]
    await setImmediate()
    const now = performance.now()
    isQuiet = now > latest || (opened === before && now - began < turnMs)
  }
  server.off('connection', count).off('drop', count)
  server.close()
}
