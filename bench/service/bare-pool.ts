import { flushCompileCache } from 'node:module'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { loggedFastify } from '../harness/logged-fastify.ts'

/**
 * The control of restarts: Fastify and a pool on the same Postgres, and nothing else. Logs one line a request, like the
 * service.
 *
 *   DATABASE_URL=… bare-pool.ts --port 4801
 *
 * GET /readyz queries the store; POST /rows inserts `{id}` into bench_rows, durably, and answers 201.
 */
const { values } = parseArgs({ options: { port: { type: 'string' } } })
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
pool.on('error', () => {})

const app = loggedFastify()
app.get('/readyz', async () => {
  await pool.query('select 1')
  return { status: 'ready' }
})
app.post<{ Body: { id: string } }>('/rows', async (request, reply) => {
  await pool.query('insert into bench_rows (id) values ($1)', [request.body.id])
  return reply.code(201).send({ id: request.body.id })
})

process.once('SIGTERM', async () => {
  await app.close()
  await pool.end()
})
await app.listen({ host: '127.0.0.1', port: Number(values.port) })
// Like the service: a start after `kill -9` finds the compile cache.
setImmediate(() => flushCompileCache())
