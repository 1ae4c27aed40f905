import { type Connection, clientConfig } from '../connection.ts'
import { lookAtAllHosts } from './hosts.ts'
import { connectPrimary } from './timeline.ts'

/** How often to look, in ms. Writes that an old primary acknowledges during this time after a promotion are lost. */
const everyMs = 1_000

/**
 * Changes to a newly promoted server while the old primary still runs, and acknowledges writes that no other server will have.
 * Once a second a short connection opens as any new one would: to the newest host of a list, or to where the address leads now.
 * If the connection's timeline is higher than that of the open connections, they are cut.
 * @returns a function that stops it.
 */
export function followNewestPrimary(connection: Connection): () => void {
  // A socket file always leads to the same server.
  if (connection.hosts === undefined && connection.host?.startsWith('/') === true) return () => {}
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  const look = async () => {
    try {
      if (connection.hosts !== undefined) await lookAtAllHosts(clientConfig(connection, 'hosts'))
      const client = await connectPrimary(connection, 'timeline', false)
      await client.end()
    } catch {
      // Readiness reports that the database is away, and the doctor reports why.
    }
    if (!isClosed) timer = setTimeout(look, everyMs).unref()
  }
  timer = setTimeout(look, everyMs).unref()
  return () => {
    isClosed = true
    clearTimeout(timer)
  }
}
