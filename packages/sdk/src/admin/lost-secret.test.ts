import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { recordedAdmin } from '../../test/recorded-admin.ts'
import { startKeyrail } from '../../test/service.ts'
import { until } from '../../test/until.ts'
import { type Admin, createAdmin } from '../admin.ts'
import { KeyrailError } from '../runtime/errors.ts'

const { connection, vendor, issue } = await startKeyrail()
const admin = createAdmin(connection)
const open = recordedAdmin(connection)

test('a secret that was lost with its answer is an error that says what to do', async () => {
  const { id: old } = await issue()
  const invited = { email: `${randomUUID()}@example.com`, role: 'member' } as const
  for (const make of [
    (client: Admin) => client.keys.rotate(old, { overlapHours: 0 }),
    (client: Admin) =>
      client.keys.create({ projectId: vendor.projectId, tenantId: vendor.tenantId, env: 'live' }),
    (client: Admin) => client.secretKeys.create({ env: 'live' }),
    (client: Admin) => client.invites.create(invited),
  ]) {
    const { admin: client, timer, instead } = open()
    instead.push(async pass => {
      await pass()
      throw new Error('away')
    })
    const making = make(client).then(
      () => assert.fail('it resolved without its secret'),
      (error: unknown) => (error instanceof KeyrailError ? error : assert.fail(String(error))),
    )
    await until(() => timer.delays.length === 1, 'it waits to retry')
    timer.pass(250)
    const { code, retryable, message, resourceId = '' } = await making
    assert.deepEqual([code, retryable], ['secret_lost', false])
    assert.match(message, new RegExp(`was executed, .* (rotate|revoke) the .* ${resourceId}`))
    if (!message.includes('/rotate')) continue
    // The old key has ended, and the message leads to a working one.
    assert.notEqual((await admin.keys.get(old)).revokedAt ?? (await admin.keys.get(old)).expiresAt, null)
    assert.match((await admin.keys.rotate(resourceId)).key ?? '', /^kr_live_/)
  }
})
