import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

/** The least that answers nginx's `auth_request`: 204 to everything, in Node's own server. */
const { values } = parseArgs({ options: { port: { type: 'string' } } })

const server = createServer({ keepAliveTimeout: 75_000 }, (_, response) => {
  response.writeHead(204).end()
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
server.listen(Number(values.port), '127.0.0.1')
