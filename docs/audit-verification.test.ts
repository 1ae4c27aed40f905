import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { auditActions } from '@keyrail/contract/vendor/audit'
import { addressPaths } from '../packages/server/src/audit/actions.ts'
import { issueSecretKey, noLimits } from '../packages/server/src/secret-keys/issue.ts'
import { bootstrapToken, startHarness } from '../packages/server/test/harness.ts'
import { makePerson } from '../packages/server/test/people.ts'
import { issueKey, makeVendor, uniqueSlug } from '../packages/server/test/vendor.ts'
import { appendVectors, publishedVectors } from './audit-vectors.ts'
import { canonicalRow, genesis, type Head, type Row, verify } from './audit-verifier.ts'
import { codeBlocks, readDocument, section, tableOf } from './documents.ts'

const harness = await startHarness()
const { ask, query } = harness
const page = readDocument('docs/audit-verification.md')
const vectors = publishedVectors()

/** A chain as any client gets it: over the API, page by page. */
async function fetchChain(token: string): Promise<{ workspaceId: string; rows: Row[]; head: Head }> {
  const { body: workspace } = await ask('GET', '/v1/workspace', { token })
  const rows: Row[] = []
  for (let cursor = ''; ; ) {
    const { body } = await ask('GET', `/v1/audit_logs?limit=3${cursor}`, { token })
    rows.push(...body.data)
    if (body.next_cursor === null) break
    cursor = `&cursor=${body.next_cursor}`
  }
  const { body: chain } = await ask('GET', '/v1/audit_logs/chain', { token })
  return { workspaceId: workspace.id, rows, head: { seq: chain.head_seq, hash: chain.head_hash } }
}

test('the service itself writes the published vectors', async () => {
  const workspaceId = await appendVectors(harness)
  const token = await harness.db.inWorkspace(workspaceId, async tx => {
    const settings = {
      ...noLimits,
      env: 'live',
      role: 'owner',
      name: null,
      meta: {},
      expires_at: null,
      rotated_from: null,
      created_in_session: null,
    } as const
    return issueSecretKey(harness.deps, tx, { type: 'operator', id: null }, 0, settings).shown.key ?? ''
  })
  const { rows, head } = await fetchChain(token)
  const written = await query(
    `select l.seq, encode(prev_hash, 'hex') as prev_hash, encode(hash, 'hex') as hash,
       audit_canonical(workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env, created_at,
         payload) as canonical
     from audit_logs l where workspace_id = $1 order by seq`,
    [workspaceId],
  )
  assert.deepEqual(vectors, {
    workspace_id: workspaceId,
    genesis: genesis(workspaceId),
    rows: written.map(({ seq, canonical, prev_hash, hash }, i) => ({
      seq,
      canonical,
      canonical_hex: Buffer.from(canonical).toString('hex'),
      prev_hash,
      hash,
      row: rows[i],
    })),
    head,
  })
})

test('the independent verifier derives the same bytes and hashes from the API’s rows', () => {
  const rows = vectors.rows.map(({ row }) => row as unknown as Row)
  assert.equal(verify(vectors.workspace_id, rows, vectors.head).valid, true)
  const plain = vectors.rows.find(({ seq }) => seq === 2)
  assert.equal(canonicalRow(vectors.workspace_id, plain?.row as never), plain?.canonical)
})

test('the page shows the vectors of the file', () => {
  const shown = codeBlocks(section(page, 'Test vectors')).map(({ text }) => text)
  assert.deepEqual(
    shown,
    vectors.rows.map(({ canonical }) => canonical),
  )
  for (const hash of [vectors.genesis, ...vectors.rows.map(row => row.hash)])
    assert.ok(page.includes(hash), hash)
})

test('the page lists every action once, in the order of the contract', () => {
  const rows = tableOf(section(page, 'Actions'))
  assert.deepEqual(
    rows.map(([action]) => action),
    auditActions.map(action => `\`${action}\``),
  )
})

test('the page names every place of an address', () => {
  const rows = tableOf(section(page, 'Addresses'))
  assert.deepEqual(
    rows,
    Object.entries(addressPaths).flatMap(([action, paths]) =>
      paths.map(path => [`\`${action}\``, `\`${path}\``]),
    ),
  )
})

test('the independent verifier imports nothing but hashing', () => {
  const source = readFileSync(new URL('audit-verifier.ts', import.meta.url), 'utf8')
  assert.deepEqual(source.match(/from '.*'/g), ["from 'node:crypto'"])
})

/** A workspace with rows of many kinds, some with addresses, some of them erased. */
async function liveChain(): Promise<string> {
  const body = { name: 'Acme', slug: uniqueSlug(), billing_email: 'first@example.com' }
  const created = await ask('POST', '/v1/workspaces', { token: bootstrapToken, body })
  const token = created.body.secret_key.key
  for (const billing_email of ['second@example.com', null, 'zoë@example.com']) {
    await ask('PATCH', '/v1/workspace', { token, body: { billing_email } })
  }
  const project = await ask('POST', '/v1/projects', { token, body: { name: 'Pay', slug: 'pay' } })
  const tenant = await ask('POST', '/v1/tenants', {
    token,
    body: { external_id: 'o1', meta: { '\u{1f600}': 0.1, ﬀ: [1e100, { b: '\u0007"\\', a: -0 }] } },
  })
  const key = {
    project_id: project.body.id,
    tenant_id: tenant.body.id,
    env: 'test',
    expires_at: '2999-01-01T01:00:00+01:00',
  }
  await ask('POST', '/v1/keys', { token, body: key })
  await ask('DELETE', `/v1/tenants/${tenant.body.id}`, { token })
  await joinAndLeave(token)
  return token
}

/** Rows of every action about people: a person is invited twice, joins, gets another role and is removed. */
async function joinAndLeave(token: string): Promise<void> {
  const invite = () =>
    ask('POST', '/v1/invites', { token, body: { email: 'grace@example.com', role: 'member' } })
  const invitee = await makePerson(query)
  await invite()
  const accept = { token: invitee.token, body: { token: (await invite()).body.token } }
  assert.equal((await ask('POST', '/v1/auth/invites/accept', accept)).status, 200)
  const member = `/v1/members/${invitee.userId}`
  assert.equal((await ask('PATCH', member, { token, body: { role: 'admin' } })).status, 200)
  assert.equal((await ask('DELETE', member, { token })).status, 200)
}

test('the independent verifier accepts a live chain, before and after an address is erased', async () => {
  const token = await liveChain()
  const before = await fetchChain(token)
  assert.ok(JSON.stringify(before.rows).includes('second@example.com'))
  for (const action of Object.keys(addressPaths))
    assert.ok(
      before.rows.some(row => row.action === action),
      action,
    )
  assert.deepEqual(verify(before.workspaceId, before.rows, before.head), {
    valid: true,
    checked: before.rows.length,
    first_bad_seq: null,
    reason: null,
  })
  await query(`delete from audit_addresses where workspace_id = $1 and address like 'second%'`, [
    before.workspaceId,
  ])
  const after = await fetchChain(token)
  assert.ok(!JSON.stringify(after.rows).includes('second@example.com'))
  assert.equal(verify(after.workspaceId, after.rows, after.head).valid, true)
})

/** Changes that an attacker with access to the database could make. `$1` is the workspace. */
const tampering = {
  'a payload edited': `update audit_logs set payload = '{}' where workspace_id = $1 and seq = 4`,
  'an actor replaced': `update audit_logs set actor_id = 'mallory' where workspace_id = $1 and seq = 3`,
  'a time moved': `update audit_logs set created_at = created_at + interval '1 ms' where workspace_id = $1 and seq = 2`,
  'an address replaced': `update audit_addresses set address = 'mallory@example.com' where workspace_id = $1 and seq = 3`,
  'a row removed': `delete from audit_logs where workspace_id = $1 and seq = 5`,
  'the tail cut': `delete from audit_logs where workspace_id = $1 and seq > 4`,
  'the head moved back': `update audit_heads h set seq = l.seq, hash = l.hash from audit_logs l
    where h.workspace_id = $1 and l.workspace_id = $1 and l.seq = 3`,
  'the head’s hash replaced': `update audit_heads set hash = sha256('') where workspace_id = $1`,
}

for (const [name, statement] of Object.entries(tampering)) {
  test(`service and independent verifier report the same fault: ${name}`, async () => {
    const token = await liveChain()
    const { body: workspace } = await ask('GET', '/v1/workspace', { token })
    await query(`begin; set local session_replication_role = replica;
      ${statement.replaceAll('$1', `'${workspace.id}'`)}; commit`)
    const { workspaceId, rows, head } = await fetchChain(token)
    const { body } = await ask('GET', '/v1/audit_logs/chain', { token })
    const { valid, checked, first_bad_seq, reason } = body
    assert.equal(valid, false)
    assert.deepEqual(verify(workspaceId, rows, head), { valid, checked, first_bad_seq, reason })
  })
}

test('a misplaced address is not returned, and the service reports a fault', async () => {
  const token = await liveChain()
  const { body: workspace } = await ask('GET', '/v1/workspace', { token })
  await query(
    `update audit_addresses set path = 'a.b' where workspace_id = $1 and seq = 3 and path like '%old'`,
    [workspace.id],
  )
  const { workspaceId, rows, head } = await fetchChain(token)
  assert.equal(verify(workspaceId, rows, head).valid, true)
  const { body } = await ask('GET', '/v1/audit_logs/chain', { token })
  assert.deepEqual([body.first_bad_seq, body.reason], [3, 'hash_mismatch'])
})

test('a chain of another workspace fails at its first row', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  const { rows, head } = await fetchChain(vendor.live)
  const verdict = verify('01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d12', rows, head)
  assert.deepEqual([verdict.first_bad_seq, verdict.reason], [1, 'hash_mismatch'])
})
