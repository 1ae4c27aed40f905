import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKeyrail } from '../../test/service.ts'
import { createKeyrail } from '../keyrail/keyrail.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { createEmbed } from './client.ts'
import { answerTokens } from './handler.ts'
import { embedHandler } from './web-handler.ts'

const { service, vendor, settings, connection } = await startKeyrail()

const sessionOf = async (token: string) => (await service.ask('GET', '/v1/embed/session', { token })).body
const keyOf = async (body: object): Promise<string> =>
  (await service.ask('POST', '/v1/secret_keys', { token: vendor.live, body })).body.key

test('a token is for the customer that it names, created if need be', async () => {
  await using keyrail = createKeyrail(settings)
  const { token, tenantId, expiresAt } = await keyrail.embed.createToken({
    externalId: 'org_17',
    createTenant: { name: 'Globex' },
    scopes: ['keys:read', 'key_scope:orders'],
  })
  const session = await sessionOf(token)
  assert.deepEqual(session.tenant, {
    id: tenantId,
    external_id: 'org_17',
    name: 'Globex',
    allowed_cidrs: [],
  })
  assert.deepEqual([session.project.id, session.expires_at], [settings.project, expiresAt])
  assert.deepEqual(session.can, {
    read: true,
    write: false,
    update: false,
    pause: false,
    network: false,
    tenant_network: false,
    key_scopes: ['orders'],
  })
  const known = await keyrail.embed.createToken({ tenantId: vendor.tenantId })
  assert.equal((await sessionOf(known.token)).tenant.id, vendor.tenantId)
})

test('the environment is that of the secret key, unless the call names one', async () => {
  const envOf = async (secretKey: string | (() => Promise<string>), env?: 'test') => {
    const { createToken } = createEmbed({ ...settings, secretKey })
    return (await createToken({ tenantId: vendor.tenantId, env })).env
  }
  assert.deepEqual(
    [
      await envOf(vendor.live),
      await envOf(vendor.test),
      await envOf(async () => vendor.test),
      await envOf(vendor.live, 'test'),
    ],
    ['live', 'test', 'test', 'test'],
  )
})

test('a page gets its token with a key of the preset embed, and manages keys with it', async () => {
  const secretKey = await keyOf({ env: 'live', preset: 'embed', project_ids: [settings.project] })
  const embed = createEmbed({ ...settings, secretKey })
  const scopes = ['keys:read', 'keys:write']
  const POST = embedHandler(embed, ({ headers }) =>
    headers.get('cookie') === 'session=ada' ? { externalId: 'org_18', scopes } : null,
  )
  const page = (cookie: string) =>
    POST(new Request('https://app.example.com/keyrail-token', { method: 'POST', headers: { cookie } }))
  assert.equal((await page('session=eve')).status, 401)
  const { token } = (await (await page('session=ada')).json()) as { token: string }
  const created = await service.ask('POST', '/v1/embed/keys', { token, body: { name: 'Build server' } })
  assert.equal(created.status, 201)
  assert.equal((await sessionOf(token)).tenant.external_id, 'org_18')
})

test('the vendor gets what the service refuses, and no page does', async () => {
  const told: KeyrailError[] = []
  const embed = createEmbed({ ...settings, onError: error => void told.push(error) })
  const answer = answerTokens(embed, () => ({ externalId: 'x'.repeat(201) }))
  const { status, body } = await answer(undefined, 'POST', () => undefined)
  assert.deepEqual([status, (body as { code: string }).code], [500, 'internal_error'])
  const [error] = told
  assert.deepEqual([told.length, error?.code, error?.errors[0]?.path], [1, 'validation_failed', 'externalId'])
  assert.ok(!JSON.stringify([body, error, error?.message]).includes(settings.secretKey))
  await assert.rejects(embed.createToken({ externalId: 'nobody' }), { code: 'not_found', status: 404 })
})

test('a wrong option is an error at startup', () => {
  const { project: _, ...without } = settings
  assert.throws(() => createEmbed(without), /project is not given/)
  assert.throws(() => createEmbed({ ...connection, project: 'x' }), /project must be a uuid/)
  assert.throws(
    () => createEmbed({ ...settings, scopes: [] } as object),
    /createEmbed has no option "scopes"/,
  )
  assert.throws(() => createEmbed({ ...settings, onError: 'x' as never }), /onError must be a function/)
})
