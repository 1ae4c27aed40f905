import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import express from 'express'
import { createAdmin } from '../src/admin.ts'
import { requireKey } from '../src/express.ts'
import { createKeyrail } from '../src/index.ts'
import { listen } from './fetch-server.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

/** Against the real service: a verified request says whose it is in the vendor's own words, without an option. */

const { service, settings, connection, issue, vendor } = await startKeyrail()
const admin = createAdmin(connection)

test('a request has externalId and meta, with a secret key of the preset node and no option', async () => {
  const [plain, gold] = [await issue(), await issue({ meta: { plan: 'gold' } })]
  const keyrail = createKeyrail({
    ...settings,
    secretKey: (await admin.secretKeys.create({ env: 'live', preset: 'node' })).key ?? '',
    // So short that the service holds no answer, which would delay closing.
    keys: { cachedTtlMs: 10_000, pollIntervalMs: 100 },
  })
  after(() => keyrail.close({ timeoutMs: 0 }))
  await keyrail.ready()
  const api = express()
  api.use(requireKey(keyrail))
  api.get('/', ({ apiKey }, response) => void response.json([apiKey?.externalId, apiKey?.meta]))
  const url = await listen(createServer(api))
  const ask = async (key: string) => {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' }
    return await (await fetch(url, { headers })).json()
  }
  const { external_id } = (await service.ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live }))
    .body
  assert.deepEqual(await ask(plain.key), [external_id, {}])
  assert.deepEqual(await ask(gold.key), [external_id, { plan: 'gold' }])

  await admin.keys.update(plain.id, { meta: { plan: 'silver' } })
  const changed = JSON.stringify([external_id, { plan: 'silver' }])
  await until(async () => JSON.stringify(await ask(plain.key)) === changed, 'the change arrives')
})
