import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestKeyrail } from '../testing.ts'
import { createGate } from './request-gate.ts'

const minute = { id: 'minute', limit: 2, windowMs: 60_000, algorithm: 'fixed', scope: 'key' } as const

test('a gate verifies, charges and counts each call as requireKey does', async () => {
  const keyrail = createTestKeyrail()
  const gate = createGate(keyrail, { header: ['authorization', 'x-api-key'] })
  const { key, keyId } = keyrail.issue({ scopes: ['orders:read'], rateLimits: [minute] })
  const admit = (headers: readonly string[], route = {}) => gate.admit({ rawHeaders: headers }, route)

  const passed = await admit(['X-API-Key', key], { scopes: ['orders:read'] })
  assert.equal(passed.key?.keyId, keyId)
  assert.equal(passed.headers?.ratelimit, '"minute";r=1;t=60')
  assert.deepEqual(passed.limits, [{ id: 'minute', remaining: 1, resetMs: 60_000 }])

  const lacking = await admit(['Authorization', `Bearer ${key}`], { scopes: ['orders:write'] })
  assert.equal(lacking.refusal?.status, 403)
  assert.equal((await admit([])).refusal?.status, 401)
  assert.equal((await admit(['Authorization', `Bearer ${key}`])).refusal, undefined)

  const denied = await admit(['Authorization', `Bearer ${key}`])
  assert.equal(denied.refusal?.status, 429)
  assert.deepEqual(denied.limits, [{ id: 'minute', remaining: 0, resetMs: 60_000 }])
  assert.deepEqual(await keyrail.usage.reported(), { [keyId]: 2 })
})

test('a gate finds the key by getKey, and fails closed with the keyring', async () => {
  const keyrail = createTestKeyrail()
  const gate = createGate(keyrail, { getKey: ({ key }) => key })
  const { key } = keyrail.issue()
  const { key: verdict } = await gate.admit({ rawHeaders: [], key })
  assert.equal(verdict?.valid, true)
  keyrail.lose()
  assert.equal((await gate.admit({ rawHeaders: [], key })).refusal?.status, 503)
})

test('a gate judges networks by the address that it is given, or that getIp finds', async () => {
  const keyrail = createTestKeyrail()
  const { key } = keyrail.issue({ allowedCidrs: ['203.0.113.0/24'] })
  const rawHeaders = ['Authorization', `Bearer ${key}`, 'X-Forwarded-For', '203.0.113.7']
  const codes = async (gate = createGate(keyrail)) => {
    const answers = []
    for (const ip of [undefined, null, '198.51.100.1', '203.0.113.7']) {
      const { refusal } = await gate.admit({ rawHeaders, ip })
      answers.push((refusal?.body as { code?: string } | undefined)?.code ?? 'valid')
    }
    return answers
  }
  assert.deepEqual(await codes(), ['ip_unknown', 'ip_unknown', 'ip_not_allowed', 'valid'])
  assert.deepEqual(await codes(createGate(keyrail, { getIp: () => '203.0.113.8' })), Array(4).fill('valid'))
})

test('wrong arguments of a gate are an error', async () => {
  assert.throws(() => createGate(undefined as never), /createGate takes a keyring/)
  assert.throws(() => createGate(createTestKeyrail(), { head: 'x' } as never), /has no option "head"/)
  const gate = createGate(createTestKeyrail())
  await assert.rejects(async () => gate.admit({ rawHeaders: [] }, { cost: 1_001 }), /cost must be an integer/)
})
