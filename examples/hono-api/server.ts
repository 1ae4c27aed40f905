import { serve } from '@hono/node-server'
import { createKeyrail } from '@keyrail/sdk'
import { idempotent, type KeyrailEnv, requireKey } from '@keyrail/sdk/hono'
import { Hono } from 'hono'
import { onStop, port, sayWhere, settings } from '../settings.ts'

const keyrail = createKeyrail(settings)
await keyrail.ready()

const app = new Hono<KeyrailEnv>()
app.use(requireKey(keyrail), idempotent(keyrail))

app.get('/payments', context => context.json({ customer: context.get('apiKey').externalId }))
let payments = 0
app.post('/payments', context =>
  context.json({ id: ++payments, customer: context.get('apiKey').externalId }, 201),
)

const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, sayWhere)
onStop(async () => {
  server.close()
  await keyrail.close()
})
