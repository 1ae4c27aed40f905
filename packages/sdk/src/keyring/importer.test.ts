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
    return Response.json({ rows: [{ status: 'created', id: id(3), active: true }] })
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

test('an import goes into the environment that is asked for, or else into that of the node', async () => {
  const asked: unknown[] = []
  const fetch: typeof globalThis.fetch = async (_, init) => {
    asked.push(JSON.parse(String(init?.body)).env)
    return Response.json({ rows: [{ status: 'created', id: id(3), active: true }] })
  }
  const customer = readCustomer({ externalId: 'acme' })
  for (const env of ['live', 'test', 'both'] as const)
    await importer(readOptions({ ...least, fetch, env }), importWith)(digestOf('old'), customer)
  const send = importer(readOptions({ ...least, fetch, env: 'both' }), importWith)
  for (const env of ['live', 'test'] as const) await send(digestOf('old'), customer, env)
  assert.deepEqual(asked, ['live', 'test', 'live', 'live', 'test'])
})

/** What a node makes of an answer of the service. */
function read(answer: Response) {
  const send = importer(readOptions({ ...least, fetch: async () => answer }), importWith)
  return send(digestOf('old'), readCustomer({ externalId: 'acme' }))
}

test('an imported key is active only if the service says so', async () => {
  const active = { isActive: true }
  for (const status of ['created', 'exists'])
    assert.deepEqual(await read(Response.json({ rows: [{ status, id: id(1), active: true }] })), active)
  for (const more of [{ active: false }, {}, { active: 'true' }, { active: 1 }, { active: null }])
    assert.deepEqual(await read(Response.json({ rows: [{ status: 'exists', id: id(1), ...more }] })), {
      isActive: false,
    })
})

test('a row that is invalid says why, and is not active whatever else it says', async () => {
  const fault = (at: number) => ({ path: `scopes.${at}`, message: 'is unknown' })
  const invalid = (more: object) => read(Response.json({ rows: [{ status: 'invalid', id: null, ...more }] }))
  assert.deepEqual(await invalid({ active: true, errors: [fault(0), fault(1)] }), {
    isActive: false,
    faults: 'scopes.0 is unknown; scopes.1 is unknown',
  })
  const many = await invalid({ errors: Array.from({ length: 11 }, (_, at) => fault(at)) })
  assert.equal(many.faults?.split('; ').length, 10)
  for (const errors of [undefined, 7, []])
    assert.deepEqual(await invalid({ errors }), { isActive: false, faults: 'it does not say why' })
})

test('an answer that says nothing of the key, and a refusal, are errors', async () => {
  for (const odd of [
    {},
    null,
    [],
    { rows: [] },
    { rows: [null] },
    { rows: [{ status: 'odd', active: true }] },
  ])
    await assert.rejects(read(Response.json(odd)), { code: 'bad_response' })
  await assert.rejects(read(new Response('no JSON')), { code: 'bad_response' })
  for (const status of [403, 429, 500, 503])
    await assert.rejects(read(Response.json({}, { status })), { status })
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
