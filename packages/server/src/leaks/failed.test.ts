import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { codehost, signedReport } from '../../test/codehost.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import type { Deps } from '../deps.ts'
import { drawToken, tokenDigest } from '../platform/crypto/token.ts'
import { Refusal } from '../platform/refusal.ts'
import { receiveLeaks } from './actions.ts'

const harness = await startHarness()
const vendor = await makeVendor(harness)

function deliver(deps: Deps, tokens: readonly string[]) {
  const { body } = signedReport(tokens.map(token => ({ token })))
  const { 'github-public-key-signature': value = '' } = codehost.sign(body)
  return receiveLeaks(deps, harness.db, Buffer.from(body), {
    keyId: codehost.keyId,
    value: Buffer.from(value, 'base64'),
  })
}
/** The service of the harness, except that the look-up of one token fails. */
function withoutAnswer(token: string): Deps {
  const { findLeaked } = harness.deps
  const digest = tokenDigest(token)
  return {
    ...harness.deps,
    findLeaked: {
      ...findLeaked,
      run: (asked, deadline) =>
        digest.equals(asked)
          ? Promise.reject(new Refusal('unavailable', 'no answer'))
          : findLeaked.run(asked, deadline),
    },
  }
}
const reasonOf = async (id: string) =>
  (await harness.ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body.revoked_reason

test('a failed look-up of one token is 503, revokes the others, and a redelivery revokes it', async () => {
  const [stuck, free, last] = [
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
  ]
  const strangers = Array.from({ length: 600 }, () => drawToken('kr_live', randomBytes))
  // The last token is in another look-up batch than the one that fails.
  const tokens = [stuck.key, free.key, ...strangers, last.key]
  await assert.rejects(deliver(withoutAnswer(stuck.key), tokens), (error: unknown) => {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.code, 'unavailable')
    assert.match(error.detail, /^1 of 603 tokens could not be looked up or revoked\. All others are done\./)
    assert.equal((error.cause as Error).message, 'no answer')
    return true
  })
  assert.deepEqual(
    [await reasonOf(stuck.id), await reasonOf(free.id), await reasonOf(last.id)],
    [null, 'leaked', 'leaked'],
  )
  const feedback = await deliver(harness.deps, tokens)
  assert.equal(feedback.filter(({ label }) => label === 'true_positive').length, 3)
  assert.equal(await reasonOf(stuck.id), 'leaked')
})
