import { createKeyrail } from '@keyrail/sdk'
import { apiKeyOf, idempotent, keepRawBody, requireKey } from '@keyrail/sdk/express'
import express from 'express'
import { onStop, port, sayWhere, settings } from '../settings.ts'

/** Keys, limits, usage, and payments that are made once even if they are sent several times. */

const keyrail = createKeyrail(settings)
await keyrail.ready()

const app = express()
app.use(requireKey(keyrail))
app.use(express.json({ verify: keepRawBody }), idempotent(keyrail))

app.get('/payments', (request, response) => {
  response.json({ customer: apiKeyOf(request).externalId })
})
let payments = 0
app.post('/payments', (request, response) => {
  response.status(201).json({ id: ++payments, customer: apiKeyOf(request).externalId })
})

const server = app.listen(port, '127.0.0.1', () => sayWhere(server.address()))
onStop(async () => {
  server.close()
  server.closeAllConnections()
  await keyrail.close()
})
