import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LimitVerdict } from '../src/limits/verdict.ts'
import { createTestKeyring } from '../src/testing.ts'
import { adapters, type Demands } from './demands-apis.ts'

/** Whatever is demanded of a key implies one, on every adapter, also where a key is optional. */

const keyring = createTestKeyring()
const bearer = ({ key }: { key: string }) => ({ authorization: `Bearer ${key}` })
const senders = {
  none: {},
  bad: { authorization: 'Bearer kr_live_wrong' },
  lesser: bearer(keyring.issue()),
  good: bearer(keyring.issue({ scopes: ['admin'] })),
}

const passes = async (): Promise<LimitVerdict> => ({ allowed: true, headers: {} }) as LimitVerdict
const limiter = { limit: passes }
const idempotency = {
  maxBodyBytes: 1_000,
  claim: async () => ({ verdict: 'unprotected' as const }),
  close: async () => {},
}
const optional = true
const scopes = ['admin']

/** What is demanded, and the statuses for no key, a bad one, one without the scope, and a good one. */
const table: [what: string, demands: Demands, statuses: [number, number, number, number]][] = [
  ['a key', {}, [401, 401, 200, 200]],
  ['nothing', { gate: { optional } }, [200, 401, 200, 200]],
  ['scopes', { gate: { scopes } }, [401, 401, 403, 200]],
  ['optional, scopes', { gate: { optional, scopes } }, [401, 401, 403, 200]],
  ['optional, scopes of a route', { gate: { optional }, route: { scopes } }, [401, 401, 403, 200]],
  ['optional, limits', { gate: { optional, limiter } }, [401, 401, 200, 200]],
  ['optional, a cost', { gate: { optional, limiter }, route: { cost: 2 } }, [401, 401, 200, 200]],
  ['optional, once if it says so', { gate: { optional }, idempotency }, [200, 401, 200, 200]],
  [
    'optional, once',
    { gate: { optional }, idempotency, sent: { 'idempotency-key': 'a' } },
    [401, 401, 200, 200],
  ],
  ['optional, always once', { gate: { optional }, idempotency, required: true }, [401, 401, 400, 400]],
]

for (const [name, make] of Object.entries(adapters)) {
  test(`${name}: what is demanded of a key implies one`, async () => {
    for (const [what, demands, statuses] of table) {
      const ask = await make({ keyring, ...demands })
      const got = []
      for (const sender of Object.values(senders)) got.push(await ask({ ...sender, ...demands.sent }))
      assert.deepEqual(got, statuses, what)
    }
  })

  test(`${name}: an option that cannot be met is an error when the guard is made`, async () => {
    const impossible: [Demands, RegExp][] = [
      [{ route: { cost: 2 } }, /cost needs limiter/],
      [{ gate: { limit: 5 } as object }, /has no option "limit"/],
      [{ route: { scopes: [] } }, /at least one scope/],
    ]
    for (const [demands, message] of impossible) {
      await assert.rejects(
        async () => make({ keyring, ...demands }),
        (error: Error) => error instanceof TypeError && message.test(error.message),
      )
    }
  })
}
