import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { codehost, reportPath } from '../../test/codehost.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, type Vendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness

/** Sends raw JSON text, since no object serialises to these odd forms. */
const report = (entries: readonly string[]) => {
  const body = Buffer.from(`[${entries.join()}]`, 'latin1')
  return harness.app.inject({
    method: 'POST',
    url: reportPath,
    headers: codehost.sign(body),
    payload: body,
  })
}
const leaksOf = async ({ workspaceId }: Vendor, id: string): Promise<{ url: unknown; source: unknown }[]> => {
  const rows = await query(
    'select payload::text as text from audit_logs where workspace_id = $1 and target_id = $2',
    [workspaceId, id],
  )
  return rows.map(({ text }) => JSON.parse(text)).filter(({ reason }) => reason === 'leaked')
}
const unknown = (token: string, type = '') => ({
  token_hash: hash('sha256', token),
  token_type: type,
  label: 'false_positive',
})

/** An odd entry, and the token in its label; null: the entry is skipped. */
const odd: Record<string, [entry: string, token: string | null]> = {
  'a token with NUL': [String.raw`{"token":"kr_live_\u0000"}`, 'kr_live_\0'],
  'half a surrogate pair for a token': [String.raw`{"token":"\ud800"}`, '\uFFFD'],
  'a number beyond 2^53 for a token': ['{"token":9007199254740993}', null],
  'a number beyond a double': ['{"token":"x","line":1e400}', 'x'],
  'a member given twice': ['{"token":"a","token":"b"}', 'b'],
  'a name with NUL': [String.raw`{"token":"x","\u0000":1}`, 'x'],
  'a name that is half a surrogate pair': [String.raw`{"token":"x","\udc00":1}`, 'x'],
  'a prototype': ['{"__proto__":{"token":"x"}}', null],
  'a byte that is not UTF-8': ['{"token":"\xff"}', '\uFFFD'],
  'an entry that is NUL alone': [String.raw`"\u0000"`, null],
}

for (const [what, [entry, token]] of Object.entries(odd)) {
  test(`${what} does not spare another key in the same report`, async () => {
    const vendor = await makeVendor(harness)
    const { key, id } = await issueKey(harness, vendor)
    const answer = await report([entry, JSON.stringify({ token: key, type: 'key' })])
    assert.deepEqual(
      [answer.statusCode, answer.json()],
      [
        200,
        [
          ...(token === null ? [] : [unknown(token)]),
          { token_hash: hash('sha256', key), token_type: 'key', label: 'true_positive' },
        ],
      ],
    )
    assert.equal((await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body.revoked_reason, 'leaked')
    assert.equal((await leaksOf(vendor, id)).length, 1)
  })
}

test('a key with an odd url, source or type is revoked, and the stored values are valid', async () => {
  const vendor = await makeVendor(harness)
  const { key, id, display_prefix } = await issueKey(harness, vendor)
  const split = `${key.slice(0, 12)}\\u0000${key.slice(12)}`
  const entry = `{"token":"${key}","type":"t\\u0000\\ud800","url":"u\\u0000\\udc00${split}${key}","source":"\\ud83d"}`
  const answer = await report([entry])
  assert.equal(answer.statusCode, 200)
  assert.deepEqual(answer.json(), [
    { token_hash: hash('sha256', key), token_type: 't\uFFFD\uFFFD', label: 'true_positive' },
  ])
  const [leak, ...more] = await leaksOf(vendor, id)
  assert.deepEqual(more, [])
  // The NUL splits the token, and removing it must not restore the token.
  const url = `u\uFFFD\uFFFD${key.slice(0, 12)}\uFFFD${key.slice(12)}${display_prefix}…`
  assert.deepEqual([leak?.url, leak?.source], [url, '\uFFFD'])
  const kept = await query('select url, source from leak_reports where credential_id = $1', [id])
  assert.deepEqual(kept, [{ url, source: '\uFFFD' }])
  assert.equal((await ask('GET', '/v1/audit_logs/chain', { token: vendor.live })).body.valid, true)
})
