import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id, lookupHash } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import { readCustomer } from './imported-customer.ts'
import { importer } from './importer.ts'
import { readOptions } from './options.ts'

const secretKey = drawKey('krsk_live')
const least = { url: 'http://127.0.0.1', secretKey, project: id(1) }
const importWith = drawKey('krsk_live')
const check = async () => null

test('an import has the digest of one key and its customer, and is sent with its own secret key', async () => {
  const asked: { url: string; authorization: string | null; body: unknown }[] = []
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const { headers, body } = init ?? {}
    const authorization = new Headers(headers).get('authorization')
    asked.push({ url: String(url), authorization, body: JSON.parse(String(body)) })
    return Response.json({}, { status: 201 })
  }
  const send = importer(readOptions({ ...least, fetch }), importWith)
  await send(digestOf('old'), readCustomer({ externalId: 'acme', scopes: ['a'], createTenant: true }))
  await send(digestOf('old'), readCustomer({ tenantId: id(2), name: 'n', meta: { a: 1 }, expiresAt: 0 }))
  const digest = lookupHash('old')
  const head = { project_id: id(1), env: 'live' }
  assert.deepEqual(
    asked.map(({ body }) => body),
    [
      { ...head, create_tenants: true, rows: [{ external_id: 'acme', digest, scopes: ['a'] }] },
      {
        ...head,
        create_tenants: false,
        rows: [
          {
            tenant_id: id(2),
            digest,
            name: 'n',
            scopes: [],
            meta: { a: 1 },
            expires_at: '1970-01-01T00:00:00.000Z',
          },
        ],
      },
    ],
  )
  for (const { url, authorization } of asked)
    assert.deepEqual([url, authorization], ['http://127.0.0.1/v1/keys/import', `Bearer ${importWith}`])
})

test('onUnknownKey and importWith come together, and never show the secret key', () => {
  assert.throws(() => readOptions({ ...least, onUnknownKey: check }), /onUnknownKey needs importWith/)
  assert.throws(() => readOptions({ ...least, importWith }), /onUnknownKey needs importWith/)
  assert.throws(() => readOptions({ ...least, onUnknownKey: 1 as never, importWith }), /must be a function/)
  const wrong = `${importWith}x`
  assert.throws(
    () => readOptions({ ...least, onUnknownKey: check, importWith: wrong }),
    ({ message }: Error) => /importWith/.test(message) && !message.includes(importWith),
  )
  assert.throws(() => readOptions({ ...least, shadow: 'yes' as never }), /shadow/)
})
