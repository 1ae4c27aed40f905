import assert from 'node:assert/strict'
import { test } from 'node:test'
import { id } from '../../test/keys.ts'
import { startKeyrail } from '../../test/service.ts'
import { createAdmin } from '../admin.ts'
import { KeyrailError } from '../runtime/errors.ts'

const { connection } = await startKeyrail()

test('`cascade` revokes a secret key and all keys made with it', async () => {
  const admin = createAdmin(connection)
  const first = await admin.secretKeys.create({ env: 'live' })
  const second = await createAdmin({ ...connection, secretKey: first.key ?? '' }).secretKeys.create({
    env: 'live',
  })
  const { descendants } = await admin.secretKeys.revoke(first.id, { reason: 'left' })
  assert.deepEqual(
    descendants.data.map(key => [key.id, key.revokedAt]),
    [[second.id, null]],
  )
  const ended = await admin.secretKeys.revoke(first.id, { cascade: true })
  assert.deepEqual(
    ended.descendants.data.map(key => [key.id, key.revokedReason]),
    [[second.id, 'cascade']],
  )
  assert.deepEqual(ended.cascade, { state: 'done', revoked: 1, remaining: 0 })
  const made: string[] = []
  for await (const key of admin.secretKeys.list({ madeBy: first.id, includeRevoked: 'true' }))
    made.push(key.id)
  assert.deepEqual(made, [second.id])
})

test('`revoke_keys` of a removal is sent as a query parameter, or not at all', async () => {
  const sent: string[] = []
  const recorded: typeof fetch = (url, init) => {
    sent.push(`${init?.method} ${new URL(String(url)).search}`)
    return fetch(url, init)
  }
  const admin = createAdmin({ ...connection, fetch: recorded })
  for (const query of [{ revokeKeys: true }, { revokeKeys: false }, {}]) {
    const error = await admin.members.remove(id(1), query).catch((reason: unknown) => reason)
    assert.ok(error instanceof KeyrailError && error.code === 'not_found', String(error))
  }
  assert.deepEqual(sent, ['DELETE ?revoke_keys=true', 'DELETE ?revoke_keys=false', 'DELETE '])
})
