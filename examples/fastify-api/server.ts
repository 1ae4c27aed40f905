import { createKeyrail } from '@keyrail/sdk'
import { keyrailPlugin } from '@keyrail/sdk/fastify'
import fastify from 'fastify'
import { onStop, port, sayWhere, settings } from '../settings.ts'

const keyrail = createKeyrail(settings)
await keyrail.ready()
const { keys: keyring, limiter, idempotency } = keyrail

const app = fastify({ forceCloseConnections: true })
await app.register(keyrailPlugin, { keyring, limiter, idempotency })

app.get('/payments', async request => ({ customer: request.apiKey.tenantId }))
let payments = 0
app.post('/payments', async (request, reply) => {
  reply.code(201)
  return { id: ++payments, customer: request.apiKey.tenantId }
})

await app.listen({ port, host: '127.0.0.1' })
sayWhere(app.server.address())
onStop(async () => {
  await app.close()
  await keyrail.close()
})
