import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { drawForeign, openImport } from '../../test/importing.ts'
import { issueKey, makeProject, makeVendor } from '../../test/vendor.ts'
import { openVerify } from '../../test/verifying.ts'
import { drawToken } from '../platform/crypto/token.ts'

const harness = await startHarness()
const { ask } = harness

const setUp = async () => {
  const vendor = await makeVendor(harness)
  const explain = async (key: string): Promise<string> =>
    (await ask('POST', '/v1/keys/explain', { token: vendor.live, body: { key } })).body.code
  return { vendor, explain, ...openImport(harness, vendor), ...openVerify(harness, vendor) }
}

test('an imported key of any form is judged as any key', async () => {
  const { vendor, answer, row, codeOf, verify, explain } = await setUp()
  const keys = ['!', '~'.repeat(512), drawForeign(), 'sk_live_abc"\\']
  // Digests belong to one key of all workspaces, and this file has its own database.
  const { rows } = await answer(keys.map(key => row(key, { scopes: ['a'] })))
  for (const [i, key] of keys.entries()) {
    const { body } = await verify(key, { scopes: ['a'] })
    assert.deepEqual([body.code, body.key.id], ['valid', rows[i].id])
    assert.equal(await explain(key), 'valid')
    assert.equal(await codeOf(key, { scopes: ['b'] }), 'insufficient_scope')
  }
  await ask('POST', `/v1/keys/${rows[0].id}/revoke`, { token: vendor.live })
  assert.deepEqual([await codeOf('!'), await explain('!')], ['revoked_key', 'revoked_key'])
})

test('beside imported keys another text is unknown, and what is no key malformed', async () => {
  const { answer, row, codeOf, explain } = await setUp()
  await answer([row()])
  for (const text of ['#', 'a'.repeat(512), drawForeign()])
    assert.deepEqual([await codeOf(text), await explain(text)], ['unknown_key', 'unknown_key'])
  for (const text of ['a b', 'é', '\u007f', 'a'.repeat(513), 'a\t'])
    assert.deepEqual([await codeOf(text), await explain(text)], ['malformed_key', 'malformed_key'])
  assert.equal(await codeOf(''), 'missing_key')
})

test('in other projects nothing changes: the text is malformed', async () => {
  const { vendor, answer, row, codeOf } = await setUp()
  const key = drawForeign()
  await answer([row(key)])
  const { id: project_id } = await makeProject(harness, vendor)
  assert.equal(await codeOf(key, { project_id }), 'malformed_key')
  const other = await setUp()
  for (const text of [key, drawForeign()])
    assert.deepEqual(
      [await other.codeOf(text), await other.explain(text)],
      ['malformed_key', 'malformed_key'],
    )
})

test('an imported key is known in its environment, and keys made here go on', async () => {
  const { vendor, answer, row, verify, codeOf } = await setUp()
  const [live, sandbox] = [drawForeign(), drawForeign()]
  await answer([row(live)])
  await answer([row(sandbox)], { env: 'test' })
  assert.equal((await verify(sandbox)).body.key.env, 'test')
  assert.equal(await codeOf(sandbox, {}, vendor.test), 'valid')
  assert.equal(await codeOf(live, {}, vendor.test), 'unknown_key')
  const made = await issueKey(harness, vendor)
  assert.equal(await codeOf(made.key), 'valid')
  assert.equal(await codeOf(`${made.key}x`), 'unknown_key')
})

test('a text that names the other environment than its key is unknown, as it is to servers', async () => {
  const { vendor, answer, row, codeOf, explain } = await setUp()
  const text = drawToken('kr_live', randomBytes)
  await answer([row(text)], { env: 'test' })
  for (const token of [vendor.live, vendor.test]) assert.equal(await codeOf(text, {}, token), 'unknown_key')
  assert.equal(await explain(text), 'unknown_key')
})
