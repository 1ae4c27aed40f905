import { type Connection, clientConfig } from '../connection.ts'
import { lookAtAllHosts } from './hosts.ts'
import { connectPrimary } from './timeline.ts'

/** What an old primary acknowledges in this time after a promotion is lost. */
const everyMs = 1_000

/**
 * Goes over to a server that was promoted while the one before it lives on, and acknowledges what no other will ever have. Once a
 * second a short connection goes where a new one would: to the newest host of a list, or to where the address leads now. If its
 * timeline is higher than that of the open connections, they are cut.
 * @returns a function that ends it.
 */
export function followNewestPrimary(connection: Connection): () => void {
  // A socket file leads to one server for good.
  if (connection.hosts === undefined && connection.host?.startsWith('/') === true) return () => {}
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  const look = async () => {
    try {
      if (connection.hosts !== undefined) await lookAtAllHosts(clientConfig(connection, 'hosts'))
      const client = await connectPrimary(connection, 'timeline', false)
      await client.end()
    } catch {
      // Readiness says that the database is away, and the doctor why.
    }
    if (!isClosed) timer = setTimeout(look, everyMs).unref()
  }
  timer = setTimeout(look, everyMs).unref()
  return () => {
    isClosed = true
    clearTimeout(timer)
  }
}
