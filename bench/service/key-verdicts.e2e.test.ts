import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { runGenerator } from '../harness/generator.ts'
import { betterAuthDatabase } from './better-auth.ts'
import type { BetterAuthPlan } from './better-auth-process.ts'
import { issueKeys, REFUSED_KEYS } from './issue-keys.ts'
import { checkVerdicts, type IssuedKeys, verifyingOrder } from './key-verdicts.ts'
import type { KeyringPlan, VerifyingCounts } from './keyring-process.ts'
import { migratedPostgres, startKeyrail } from './start.ts'
import { makeVendor } from './vendor.ts'

const postgres = await migratedPostgres()
const server = await startKeyrail(postgres)
after(async () => {
  await server.close()
  await postgres.close()
})

const issued: IssuedKeys = {
  valid: [
    { key: 'one', id: '1' },
    { key: 'two', id: '2' },
  ],
  ended: [{ key: 'three', id: '3' }],
  expired: [{ key: 'four', id: '4' }],
}
const ids = new Map(issued.valid.map(({ key, id }) => [key, id]))
const count = 30

test('a side that confuses keys or accepts an invalid one fails', async () => {
  const right = (key: string) => ids.get(key) ?? null
  assert.deepEqual(await checkVerdicts(right, issued, 2), {
    valid: 2,
    ended: 1,
    expired: 1,
    mistyped: 2,
    unknown: 50,
  })
  const wrong: [RegExp, (key: string) => string | null][] = [
    [/key 2 was found as 1/, key => (key === 'two' ? '1' : right(key))],
    [/key 1 was found as none/, () => null],
    [/ended was accepted/, key => (key === 'three' ? '3' : right(key))],
    [/expired was accepted/, key => (key === 'four' ? '4' : right(key))],
    [/mistyped was accepted/, key => right(key) ?? (key.startsWith('tw') ? '2' : null)],
    [/unknown was accepted/, key => right(key) ?? (key.startsWith('kr_live_') ? '5' : null)],
  ]
  for (const [complaint, verify] of wrong) await assert.rejects(checkVerdicts(verify, issued, 2), complaint)
})

test('the order contains each key once, is shuffled, and is the same in every process', () => {
  const order = verifyingOrder(100)
  const sorted = Array.from({ length: 100 }, (_, number) => number)
  assert.deepEqual(
    order.toSorted((one, other) => one - other),
    sorted,
  )
  assert.notDeepEqual(order, sorted)
  assert.deepEqual(verifyingOrder(100), order)
})

test('the keys of the service and of better-auth get the same verdicts by kind', async () => {
  const vendor = await makeVendor(server.url, { tenants: 2 })
  const { token, projectId } = vendor
  const ours = await runGenerator<KeyringPlan, VerifyingCounts>(
    new URL('keyring-process.ts', import.meta.url).href,
    { url: server.url, token, projectId, keys: await issueKeys(server.url, vendor, count), seconds: 0.01 },
    null,
  )
  const { databaseUrl, keys } = await betterAuthDatabase(postgres, { count, owners: 2 })
  const theirs = await runGenerator<BetterAuthPlan, VerifyingCounts>(
    new URL('better-auth-process.ts', import.meta.url).href,
    { databaseUrl, inFlight: 2, keys, seconds: 0.01 },
    null,
  )
  const refused = { ended: REFUSED_KEYS, expired: REFUSED_KEYS, mistyped: count, unknown: 50 }
  assert.deepEqual(ours.answer, { valid: count, ...refused })
  assert.deepEqual(theirs.answer, ours.answer)
  assert.ok(ours.perSecond > 0 && theirs.perSecond > 0)
})
