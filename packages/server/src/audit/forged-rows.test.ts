import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'

/**
 * Forgeries that need the owner of the database: the tests drop the constraints that would reject them.
 * `npm run drills -- p3` covers all others.
 */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { workspaceId, live } = vendor

const rows = 1_001
await query(
  `select audit_append($1, 'system', null, service_now(), array_fill('tenant.updated'::text, array[n]),
     array_fill('tenant'::text, array[n]), array_fill($2::uuid, array[n]), array_fill(null::text, array[n]),
     array_fill('{}'::text, array[n]), null)
   from (select $3 - seq::int as n from audit_heads where workspace_id = $1) missing`,
  [workspaceId, vendor.tenantId, rows],
)
await query('alter table audit_addresses drop constraint audit_addresses_workspace_id_seq_fkey')
await query('alter table audit_logs drop constraint audit_logs_pkey, drop constraint audit_logs_checked')

async function chainAfter(forgery: string, undo: string) {
  await query(forgery, [workspaceId])
  try {
    return (await ask('GET', '/v1/audit_logs/chain', { token: live })).body
  } finally {
    await query(undo, [workspaceId])
  }
}

test('the chain that the forgeries start from is valid', async () => {
  const { body } = await ask('GET', '/v1/audit_logs/chain', { token: live })
  assert.deepEqual([body.valid, body.checked], [true, rows])
})

test('a duplicated row is found anywhere, also between two pages of the verification', async () => {
  for (const seq of [1, 499, 500, 501, 999, 1_000, rows]) {
    const chain = await chainAfter(
      `insert into audit_logs select * from audit_logs where workspace_id = $1 and seq = ${seq}`,
      `delete from audit_logs where ctid in (select max(ctid) from audit_logs
         where workspace_id = $1 and seq = ${seq} having count(*) = 2)`,
    )
    assert.deepEqual([chain.valid, chain.first_bad_seq, chain.reason], [false, seq + 1, 'gap'], `row ${seq}`)
  }
})

test('a row inserted before the first one is found', async () => {
  for (const seq of [0, -5]) {
    const chain = await chainAfter(
      `insert into audit_logs select workspace_id, ${seq}, action, actor_type, actor_id, target_type, target_id, env,
         payload, created_at, prev_hash, hash from audit_logs where workspace_id = $1 and seq = 1`,
      'delete from audit_logs where workspace_id = $1 and seq < 1',
    )
    assert.deepEqual([chain.valid, chain.first_bad_seq], [false, 1])
  }
})

test('a row moved to the same day and hour before Christ is found', async () => {
  const chain = await chainAfter(
    `update audit_logs set created_at = (to_char(created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') || ' UTC BC')::timestamptz
     where workspace_id = $1 and seq = 700`,
    `update audit_logs set created_at = (select created_at from audit_logs where workspace_id = $1 and seq = 701)
     where workspace_id = $1 and seq = 700`,
  )
  assert.deepEqual([chain.valid, chain.first_bad_seq, chain.reason], [false, 700, 'hash_mismatch'])
  const { body } = await ask('GET', '/v1/audit_logs/chain', { token: live })
  assert.equal(body.valid, true)
})

test('a duplicated address is found anywhere', async () => {
  const addresses = 501
  await query(
    `select audit_append($1, 'system', null, service_now(), array_fill('workspace.updated'::text, array[${addresses}]),
       array_fill('workspace'::text, array[${addresses}]), array_fill($1::uuid, array[${addresses}]),
       array_fill(null::text, array[${addresses}]),
       array_fill('{"billing_email":{"new_hash":"' || encode(sha256(decode(repeat('00', 16), 'hex') || 'a@example.com'), 'hex') || '"}}', array[${addresses}]),
       (select jsonb_agg(jsonb_build_object('row', n, 'path', 'billing_email.new', 'address', 'a@example.com',
          'salt', encode(decode(repeat('00', 16), 'hex'), 'base64'))) from generate_series(1, ${addresses}) n))`,
    [workspaceId],
  )
  const { body } = await ask('GET', '/v1/audit_logs/chain', { token: live })
  assert.deepEqual([body.valid, body.checked], [true, rows + addresses])
  await query('alter table audit_addresses drop constraint audit_addresses_pkey')
  for (const [place, times] of [
    [1, 1],
    [499, 1],
    [500, 1],
    [500, 1_000],
    [501, 1],
  ] as const) {
    const seq = rows + place
    const chain = await chainAfter(
      `insert into audit_addresses select a.* from audit_addresses a, generate_series(1, ${times})
       where workspace_id = $1 and seq = ${seq}`,
      `delete from audit_addresses where workspace_id = $1 and seq = ${seq}
         and ctid <> (select min(ctid) from audit_addresses where workspace_id = $1 and seq = ${seq})`,
    )
    assert.deepEqual([chain.valid, chain.first_bad_seq], [false, seq], `${times} more of row ${seq}`)
  }
})

test('a payload that is not JSON is found where it names an address, as anywhere', async () => {
  for (const seq of [500, rows + 2]) {
    const chain = await chainAfter(
      `update audit_logs set payload = 'x' || payload where workspace_id = $1 and seq = ${seq}`,
      `update audit_logs set payload = substr(payload, 2) where workspace_id = $1 and seq = ${seq}`,
    )
    assert.deepEqual([chain.valid, chain.first_bad_seq], [false, seq])
  }
})
