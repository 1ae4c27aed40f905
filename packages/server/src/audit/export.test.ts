import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Row, verify } from '../../../../docs/audit-verifier.ts'
import { bootstrapToken, startHarness } from '../../test/harness.ts'
import { addMember, makePerson } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeVendor, uniqueSlug } from '../../test/vendor.ts'
import type { ChainHead } from './chain.ts'
import { genesisHash } from './chain.ts'
import { readCheckpoint, readVerifierKey } from './checkpoint.ts'
import { linesOf, NoAuditLog } from './lines.ts'
import { type Expected, verifyFile } from './verify-file.ts'

const harness = await startHarness({ publicUrl: 'https://keys.example.com' })
const { ask, query } = harness
const address = await harness.app.listen({ port: 0, host: '127.0.0.1' })

const exportOf = async (token: string, after = ''): Promise<string> => {
  const { status, headers, body } = await ask('GET', `/v1/audit_logs/export${after}`, { token })
  assert.deepEqual([status, headers['content-type']], [200, 'application/x-ndjson'])
  return body
}
const rowsOf = (text: string): Row[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))

async function* asStream(text: string, size: number) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const verifyText = (text: string, expected: Partial<Expected> = {}, size = 1_000) =>
  verifyFile(linesOf(asStream(text, size)), { head: null, after: null, workspaceId: null, ...expected })
const headOf = (row: { seq: number; hash: string }): ChainHead => ({
  seq: row.seq,
  hash: Buffer.from(row.hash, 'hex'),
})

/** A log with addresses, and with characters that Unicode treats as line breaks. */
async function makeLog() {
  const created = await ask('POST', '/v1/workspaces', {
    token: bootstrapToken,
    body: {
      name: 'A name with 😀',
      slug: uniqueSlug(),
      billing_email: 'billing@example.com',
    },
  })
  const token: string = created.body.secret_key.key
  for (let i = 0; i < 8; i++) {
    await ask('POST', '/v1/tenants', {
      token,
      body: { external_id: `one\u2028\u2029${i}`, meta: { n: 1e21, z: -0 } },
    })
  }
  return { token, workspaceId: created.body.id as string }
}

test('the export is the whole list in order, and an independent verifier accepts it', async () => {
  const { token, workspaceId } = await makeLog()
  const text = await exportOf(token)
  const { body: list } = await ask('GET', '/v1/audit_logs?limit=200', { token })
  // Lists alone name the secret key.
  const rows = list.data.map(({ actor_secret_key, ...row }: Row & { actor_secret_key?: object }) => row)
  assert.deepEqual(rowsOf(text), rows)
  const { body: chain } = await ask('GET', '/v1/audit_logs/chain', { token })
  const head = { seq: chain.head_seq, hash: chain.head_hash }
  assert.equal(verify(workspaceId, rowsOf(text), head).valid, true)
  for (const size of [1, 7, 100_000]) {
    const verdict = await verifyText(text, { head: headOf(head) }, size)
    assert.deepEqual([verdict.valid, verdict.checked, verdict.workspaceId], [true, 10, workspaceId])
  }
})

test('an export can continue after any row and ends at the last row of its start', async () => {
  const { token, workspaceId } = await makeLog()
  await query(
    `select audit_append($1, 'system', null, service_now(), array_fill('workspace.updated'::text, array[1300]),
       array_fill('workspace'::text, array[1300]), array_fill($1::uuid, array[1300]),
       array_fill(null::text, array[1300]), array_fill('{}'::text, array[1300]), null)`,
    [workspaceId],
  )
  const whole = await exportOf(token)
  const seqs = rowsOf(whole).map(({ seq }) => seq)
  assert.deepEqual(
    seqs,
    Array.from({ length: 1310 }, (_, i) => i + 1),
  )
  for (const after of [0, 1, 499, 500, 501, 1000, 1309, 1310, 9999]) {
    const rest = await exportOf(token, `?after_seq=${after}`)
    assert.equal(rest, whole.split('\n').slice(after).join('\n'), `${after}`)
  }
  const rows = rowsOf(whole)
  const noted = rows[699] as Row
  const rest = await exportOf(token, '?after_seq=700')
  const verdict = await verifyText(rest, { after: headOf(noted), head: headOf(rows[1309] as Row) })
  assert.deepEqual([verdict.valid, verdict.checked], [true, 610])
})

test('a test credential exports what it can list, and that file is not a complete log', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  const text = await exportOf(vendor.test)
  const { body: list } = await ask('GET', '/v1/audit_logs?limit=200', { token: vendor.test })
  assert.deepEqual(rowsOf(text), list.data)
  await assert.rejects(verifyText(text), NoAuditLog)
})

test('any changed byte of a row is found at that row', async () => {
  const { token } = await makeLog()
  const lines = (await exportOf(token)).split('\n')
  const changes: ((row: Row) => void)[] = [
    row => (row.action = 'tenant.deleted'),
    row => (row.actor_id = 'x'),
    row => (row.env = 'live'),
    row => (row.created_at = '2020-01-01T00:00:00.000Z'),
    row => (row.target_id = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'),
    row => (row.payload = { ...row.payload, name: 'x' }),
    row => (row.hash = '0'.repeat(64)),
    row => (row.prev_hash = '0'.repeat(64)),
  ]
  for (const change of changes) {
    for (const at of [0, 4, lines.length - 2]) {
      const row = JSON.parse(lines[at] ?? '')
      change(row)
      const verdict = await verifyText(lines.with(at, JSON.stringify(row)).join('\n'))
      assert.deepEqual([verdict.valid, verdict.firstBadSeq, verdict.reason], [false, at + 1, 'hash_mismatch'])
    }
  }
  const address = JSON.parse(lines[0] ?? '')
  address.payload.billing_email = 'other@example.com'
  assert.equal((await verifyText(lines.with(0, JSON.stringify(address)).join('\n'))).firstBadSeq, 1)
  assert.deepEqual((await verifyText(lines.toSpliced(4, 1).join('\n'))).reason, 'gap')
})

test('a kept head or checkpoint reveals a truncated tail and a rewritten log', async () => {
  const { token, workspaceId } = await makeLog()
  const text = await exportOf(token)
  const { body: chain } = await ask('GET', '/v1/audit_logs/chain', { token })
  const { body: keys } = await ask('GET', '/.well-known/audit-checkpoint-key')
  const key = readVerifierKey(keys.verifier_keys[0])
  assert.ok(key)
  assert.equal(key.name, 'keys.example.com/audit')
  const kept = readCheckpoint(chain.checkpoint, key)
  assert.deepEqual(kept, { workspaceId, ...headOf({ seq: chain.head_seq, hash: chain.head_hash }) })

  const cut = text.split('\n').slice(0, -2).join('\n')
  assert.equal((await verifyText(cut)).valid, true)
  const verdict = await verifyText(cut, { head: kept })
  assert.deepEqual([verdict.valid, verdict.reason, verdict.firstBadSeq], [false, 'head_mismatch', 10])

  const other = await makeLog()
  const anew = (await exportOf(other.token)).replaceAll(other.workspaceId, workspaceId)
  assert.equal((await verifyText(anew, { head: kept, workspaceId })).valid, false)
})

test('a head outside of the file is never reported as verified', async () => {
  const { token, workspaceId } = await makeLog()
  const text = await exportOf(token)
  const rows = rowsOf(text)
  const tail = await exportOf(token, '?after_seq=3')
  const after = headOf(rows[2] as Row)
  const zeros = (seq: number) => ({ seq, hash: Buffer.alloc(32) })
  for (const seq of [0, 2, 3]) await assert.rejects(verifyText(tail, { after, head: zeros(seq) }), NoAuditLog)
  assert.equal((await verifyText(tail, { after, head: after })).valid, true)
  assert.deepEqual((await verifyText(text, { head: zeros(0) })).reason, 'head_mismatch')
  assert.equal((await verifyText(text, { head: { seq: 0, hash: genesisHash(workspaceId) } })).valid, true)
  assert.deepEqual((await verifyText(text, { head: zeros(5) })).firstBadSeq, 5)
})

test('a row that another parser could read differently is rejected', async () => {
  const { token } = await makeLog()
  const [line = ''] = (await exportOf(token)).split('\n')
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const hostile = [
    line.replace('"action":"workspace.created"', '"action":["workspace.created"]'),
    line.replace('"action":', '"action":"tenant.created","action":'),
    line.replace('"action":"workspace.created"', '"action":{"toString":1}'),
    line.replace('"seq":1,', '"seq":1.5,'),
    line.replace('"env":null', '"env":0'),
    line.replace('"payload":{', `"payload":{"x":${deep(20_000)},`),
    line.replace('"payload":{', '"payload":{"x":1e999,'),
    line.replace('"payload":{', '"payload":{"x":"\\ud800",'),
    line.replace('"payload":{', '"payload":[{').replace(/}(,"prev_hash")/, '}]$1'),
    `${line.slice(0, -1)},"long":"${'x'.repeat(5_000_000)}"}`,
  ]
  for (const text of hostile)
    await assert.rejects(
      verifyText(`${text}\n`),
      (error: Error) => error instanceof NoAuditLog && /^Line 1 /.test(error.message),
      text.slice(0, 200),
    )
  for (const action of ['toString', 'constructor', '__proto__']) {
    const { valid } = await verifyText(line.replace('workspace.created', action))
    assert.equal(valid, false)
  }
})

test('HEAD reads one page only, and a workspace has one export at a time', async () => {
  const { token, workspaceId } = await makeLog()
  await query(
    `select audit_append($1, 'system', null, service_now(), array_fill('workspace.updated'::text, array[2000]),
       array_fill('workspace'::text, array[2000]), array_fill($1::uuid, array[2000]),
       array_fill(null::text, array[2000]), array_fill($2::text, array[2000]), null)`,
    [workspaceId, JSON.stringify({ x: 'x'.repeat(2_000) })],
  )
  const headers = { authorization: `Bearer ${token}` }
  for (let i = 0; i < 10; i++) {
    const { statusCode, body } = await harness.app.inject({
      method: 'HEAD',
      url: '/v1/audit_logs/export',
      headers,
    })
    assert.deepEqual([statusCode, body], [200, ''])
  }
  const open = () => fetch(`${address}/v1/audit_logs/export`, { headers })
  const first = await open()
  assert.equal(first.status, 200)
  const refused = await open()
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5'])
  const other = await makeLog()
  assert.equal(rowsOf(await exportOf(other.token)).length, 10, 'another workspace is not blocked')
  assert.equal(rowsOf(await first.text()).length, 2010)
  // The place is free once the stream has closed, and again once a reader disconnects during an export.
  for (let taken = 0; taken < 2; taken += 1) {
    await until(async () => {
      const again = await open()
      await again.body?.cancel()
      return again.status === 200
    }, 'the place is free')
  }
})

/** Adds more rows than the sockets buffer while the reader takes nothing. */
const lengthenLog = (workspaceId: string) =>
  query(
    `select audit_append($1, 'system', null, service_now(), array_fill('workspace.updated'::text, array[6000]),
       array_fill('workspace'::text, array[6000]), array_fill($1::uuid, array[6000]),
       array_fill(null::text, array[6000]), array_fill($2::text, array[6000]), null)`,
    [workspaceId, JSON.stringify({ x: 'x'.repeat(4_000) })],
  )

test('an export breaks off at its next page once its secret key is revoked', async () => {
  const { token, workspaceId } = await makeLog()
  const { body: reader } = await ask('POST', '/v1/secret_keys', { token, body: { env: 'live' } })
  await lengthenLog(workspaceId)
  const headers = { authorization: `Bearer ${reader.key}` }
  const response = await fetch(`${address}/v1/audit_logs/export`, { headers })
  assert.equal(response.status, 200)
  await ask('POST', `/v1/secret_keys/${reader.id}/revoke`, { token })
  await assert.rejects(response.text(), { message: 'terminated' })
})

test('an export breaks off once its member is removed, wherever the session acts', async () => {
  const { token, workspaceId } = await makeLog()
  const other = await makeVendor(harness)
  const member = await makePerson(query, { workspaceId, role: 'member' })
  await addMember(query, other.workspaceId, member.userId, 'owner')
  await lengthenLog(workspaceId)
  const headers = { authorization: `Bearer ${member.token}` }
  const response = await fetch(`${address}/v1/audit_logs/export`, { headers })
  assert.equal(response.status, 200)
  const entered = await ask('POST', '/v1/auth/sessions/current/workspace', {
    token: member.token,
    body: { workspace_id: other.workspaceId },
  })
  assert.equal(entered.status, 200)
  assert.equal((await ask('DELETE', `/v1/members/${member.userId}`, { token })).status, 200)
  await assert.rejects(response.text(), { message: 'terminated' })
})

test('an invalid chain is not signed', async () => {
  const { token, workspaceId } = await makeLog()
  await query(`update audit_logs set payload = '{"x":1}' where workspace_id = $1 and seq = 3`, [workspaceId])
  const { body } = await ask('GET', '/v1/audit_logs/chain', { token })
  assert.deepEqual([body.valid, body.first_bad_seq, body.checkpoint], [false, 3, null])
})

test('a file that is not an exported log is rejected with the line', async () => {
  const { token } = await makeLog()
  const text = await exportOf(token)
  for (const [bad, line] of [
    [`${text}{"object":`, 11],
    ['{}\n', 1],
    ['null\n', 1],
    ['[]', 1],
    ['PK\u0003\u0004', 1],
    [text.replace('"object":"audit_log"', '"object":"x"'), 1],
    [`${text}\n`, 11],
  ] as const) {
    await assert.rejects(
      verifyText(bad),
      (error: Error) => error instanceof NoAuditLog && error.message.startsWith(`Line ${line} `),
    )
  }
  assert.deepEqual((await verifyText('')).checked, 0)
})
