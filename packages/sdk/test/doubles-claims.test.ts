import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { answerClaims } from '../src/testing/claims.ts'
import { startKeyrail } from './service.ts'

/** Sends the test double and the service the same calls at the same times, and compares the answers. */

const { service, connection } = await startKeyrail()
const began = Math.ceil(Date.now() / 1_000) * 1_000
/** Since the start, over all runs. It only grows. */
let now = 0
let runs = 0

const hash = (text: string) => createHash('sha256').update(text).digest('hex')
const ttl = fc.option(fc.constantFrom(60_000, 90_000), { nil: undefined })
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('claim' as const), print: fc.nat(1), ttl }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('complete' as const, 'release' as const, 'heartbeat' as const),
      // An index into the won claims, from the last.
      holder: fc.nat(2),
      body: fc.constantFrom(null, 'eyJpZCI6MX0='),
      ttl,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 29_999, 30_000, 60_000, 90_000),
    }),
  },
)

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
const wait: Step = { do: 'wait', ms: 29_999 }
const beat: Step = { do: 'heartbeat', holder: 0, body: null, ttl: undefined }
const claim: Step = { do: 'claim', print: 0, ttl: 60_000 }
/** A handler that runs for longer than the ttl of its record. */
const outlived: Step[] = [claim, wait, beat, wait, beat, wait, claim, { ...claim, print: 1 }, beat]

async function askService(name: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${connection.url}/v1/${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${connection.secretKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200)
  return (await response.json()) as Record<string, unknown>
}

/** With times from the start, and without the token, which is random. */
const comparable = ({ lock_token, lock_expires_at, ...rest }: Record<string, unknown>, zero: number) => ({
  ...rest,
  ...(lock_expires_at !== undefined && { lock_expires_at: Date.parse(String(lock_expires_at)) - zero }),
})

test('the double answers idempotency calls as the service does, in any order and at any time', async () => {
  const double = answerClaims(() => now) as unknown as Record<
    string,
    (body: object) => Record<string, unknown>
  >
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async steps => {
        const record = { env: 'live', scope_hash: hash(`run ${runs++}`) }
        /** Tokens of the double and of the service. */
        const won: [unknown, unknown][] = []
        await service.setStoreTime(new Date(began + now))
        for (const each of steps) {
          if (each.do === 'wait') {
            now += each.ms
            await service.setStoreTime(new Date(began + now))
            continue
          }
          const name = `idempotency/${each.do}`
          const ttl_ms =
            each.ttl === undefined || !['claim', 'complete'].includes(each.do) ? {} : { ttl_ms: each.ttl }
          const [ours, theirs] =
            each.do === 'claim' ? [] : (won.at(-1 - each.holder) ?? ['nobody holds', 'nobody holds'])
          const bodyFor = (lock_token: unknown) => ({
            ...record,
            ...ttl_ms,
            ...(each.do === 'claim' ? { fingerprint: hash(String(each.print)) } : { lock_token }),
            ...(each.do === 'complete' && { status: 201, headers: { location: '/1' }, body: each.body }),
          })
          const answered = double[name]?.(bodyFor(ours)) ?? assert.fail(name)
          const expected = await askService(name, bodyFor(theirs))
          assert.deepEqual(comparable(answered, 0), comparable(expected, began), JSON.stringify(steps))
          if (answered.lock_token !== undefined) won.push([answered.lock_token, expected.lock_token])
        }
      }),
      { numRuns: 60, examples: [[outlived]] },
    )
  } finally {
    await service.setStoreTime(null)
  }
})
