import { createKeyrail } from '@keyrail/sdk'
import { apiKeyOf, keyrailPlugin } from '@keyrail/sdk/fastify'
import fastify from 'fastify'
import { onStop, port, sayWhere, settings } from '../settings.ts'

const keyrail = createKeyrail(settings)
await keyrail.ready()

const app = fastify({ forceCloseConnections: true })
await app.register(keyrailPlugin, { keyring: keyrail, idempotency: keyrail })

app.get('/payments', async request => ({ customer: apiKeyOf(request).externalId }))
let payments = 0
app.post('/payments', async (request, reply) => {
  reply.code(201)
  return { id: ++payments, customer: apiKeyOf(request).externalId }
})

await app.listen({ port, host: '127.0.0.1' })
sayWhere(app.server.address())
onStop(async () => {
  await app.close()
  await keyrail.close()
})
