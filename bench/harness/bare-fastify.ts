import { parseArgs } from 'node:util'
import { loggedFastify } from './logged-fastify.ts'

/**
 * The control of most benches: a Fastify that only reads and returns the same bytes, with one log line a request.
 *
 *   bare-fastify.ts --port 4801 [--answer '{"allowed":true}']
 *
 * GET /healthz, GET /echo and POST /echo. POST parses its JSON and returns it. With `--answer` both echo routes return
 * that JSON instead, so that answers are as long as those of the other arm.
 */
const { values } = parseArgs({ options: { port: { type: 'string' }, answer: { type: 'string' } } })
const answer: unknown = values.answer === undefined ? undefined : JSON.parse(values.answer)

const app = loggedFastify()
app.get('/healthz', async () => ({ status: 'ok' }))
app.get('/echo', async () => answer ?? {})
app.post('/echo', async request => answer ?? request.body)

process.once('SIGTERM', () => {
  app.close()
})
await app.listen({ host: '127.0.0.1', port: Number(values.port) })
