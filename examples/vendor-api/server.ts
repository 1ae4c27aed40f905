import { createKeyrail } from '@keyrail/sdk'
import { requireKey } from '@keyrail/sdk/express'
import express from 'express'

const { KEYRAIL_URL = 'http://127.0.0.1:8080', KEYRAIL_SECRET_KEY = '', KEYRAIL_PROJECT = '' } = process.env
const keyrail = createKeyrail({ url: KEYRAIL_URL, secretKey: KEYRAIL_SECRET_KEY, project: KEYRAIL_PROJECT })
await keyrail.ready()

const api = express()
api.use(requireKey(keyrail))
api.get('/payments', (request, response) => {
  response.json({ customer: request.apiKey?.externalId, payments: [{ id: 1, amount: '12.50' }] })
})

const server = api.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`The payments API listens on http://127.0.0.1:${typeof address === 'object' && address?.port}`)
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    server.close()
    server.closeAllConnections()
    await keyrail.close()
  })
}
