import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from './harness.ts'
import { makePerson } from './people.ts'
import { issueKey, makeInvite, makeTenant, makeVendor } from './vendor.ts'
import { faultsOf } from './whole.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live, workspaceId, projectId, tenantId } = vendor
const key = await issueKey(harness, vendor)
const revoked = await issueKey(harness, vendor)
await ask('POST', `/v1/keys/${revoked.id}/revoke`, { token: live })
const paused = await issueKey(harness, vendor)
await ask('POST', `/v1/keys/${paused.id}/disable`, { token: live })
const many = [(await issueKey(harness, vendor)).id, (await issueKey(harness, vendor)).id]
await ask('POST', '/v1/keys/disable', { token: live, body: { ids: many } })
const rotated = await issueKey(harness, vendor)
await ask('POST', `/v1/keys/${rotated.id}/rotate`, { token: live })
const { id: suspended } = await makeTenant(harness, vendor)
await issueKey(harness, vendor, { tenant_id: suspended })
await ask('POST', `/v1/tenants/${suspended}/suspend`, { token: live, body: { reason: 'unpaid' } })
await ask('PATCH', `/v1/keys/${key.id}`, {
  token: live,
  body: { name: 'renamed', scopes: ['a'], allowed_cidrs: ['10.0.0.0/8'] },
})
await ask('PATCH', `/v1/tenants/${suspended}`, { token: live, body: { allowed_cidrs: ['10.0.0.0/8'] } })
const invite = await makeInvite(harness, vendor)
await ask('POST', `/v1/invites/${(await makeInvite(harness, vendor)).id}/revoke`, { token: live })
const accept = async () => {
  const { userId, token } = await makePerson(query)
  const body = { token: (await makeInvite(harness, vendor)).token }
  assert.equal((await ask('POST', '/v1/auth/invites/accept', { token, body })).status, 200)
  return userId
}
const [joined, promoted, removed] = [await accept(), await accept(), await accept()]
await ask('PATCH', `/v1/members/${promoted}`, { token: live, body: { role: 'owner' } })
await ask('DELETE', `/v1/members/${removed}`, { token: live })
await ask('POST', `/v1/tenants/${tenantId}/embed_tokens/revoke`, { token: live })
const standing = /workspace_members: differs from the last audit row/

test('a workspace that only the service has changed is whole', async () => {
  assert.deepEqual(await faultsOf(query, workspaceId), [])
})

/** Incomplete mutations, as a lost write would leave them. */
const halves: Record<string, [string, RegExp]> = {
  'a key without its audit row': [
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, created_at, updated_at)
     values ('${workspaceId}', gen_random_uuid(), '${projectId}', '${tenantId}', 'live', 'kr', sha256('x'), now(), now())`,
    /api_keys: 0 audit rows of its birth/,
  ],
  'an audit row without its key': [
    `delete from policy_changes where key_id = '${key.id}'; delete from api_keys where id = '${key.id}'`,
    /api_keys: 1 births without a row, 0 deleted/,
  ],
  'a revocation without its audit row': [
    `update api_keys set revoked_at = now() where id = '${key.id}'`,
    /revoked_at but 0 rows of api_key.revoked/,
  ],
  'an audit row without its revocation': [
    `update api_keys set revoked_at = null where id = '${revoked.id}'`,
    /revoked_at but 1 rows of api_key.revoked/,
  ],
  'a pause without its audit row': [
    `update api_keys set disabled_at = now(), disabled_by = 'vendor' where id = '${key.id}'`,
    /its pause differs from the last audit row/,
  ],
  'a batch of keys with more than one version': [
    `update audit_logs set payload = replace(payload, '"batch":1', '"batch":2') where target_id = '${many[1]}'`,
    /policy version \d+, the log has \d+/,
  ],
  'an audit row without its pause': [
    `update api_keys set disabled_at = null, disabled_by = null where id = '${paused.id}'`,
    /its pause differs from the last audit row/,
  ],
  'a suspension without its audit row': [
    `update tenants set suspended_at = now() where id = '${tenantId}'`,
    /its suspension differs from the last audit row/,
  ],
  'an audit row without its suspension': [
    `update tenants set suspended_at = null, suspended_reason = null where id = '${suspended}'`,
    /its suspension differs from the last audit row/,
  ],
  'another reason of a suspension': [
    `update tenants set suspended_reason = 'other' where id = '${suspended}'`,
    /its suspension differs from the last audit row/,
  ],
  'networks of a key without their audit row': [
    `update api_keys set allowed_cidrs = '{}' where id = '${key.id}'`,
    /its networks differ from the last audit row/,
  ],
  'networks of a tenant that were undone': [
    `update tenants set allowed_cidrs = '{}' where id = '${suspended}'`,
    /its networks differ from the last audit row/,
  ],
  'a floor of networks that never were': [
    `insert into policy_tenants (workspace_id, project_id, tenant_id, version, networks_version)
     values ('${workspaceId}', '${projectId}', '${tenantId}', 1, 1)`,
    /the version of its networks/,
  ],
  'a floor of a suspension that never was': [
    `insert into policy_tenants (workspace_id, project_id, tenant_id, version, suspended_version)
     values ('${workspaceId}', '${projectId}', '${tenantId}', 1, 1)`,
    /the version of its suspension/,
  ],
  'a rotation without its link': [
    `update api_keys set rotated_to = null where id = '${rotated.id}'`,
    /successors and rows of api_key.rotated differ/,
  ],
  'an update that was undone': [
    `update api_keys set name = 'old' where id = '${key.id}'`,
    /differs from the last audit row/,
  ],
  'a version that was not raised': [
    `update policy_heads set version = version - 1 where project_id = '${projectId}'`,
    /policy version \d+, the log has \d+/,
  ],
  'a version without its change': [
    `delete from policy_changes where key_id = '${key.id}'`,
    /changes at \d+ versions/,
  ],
  'a key alive under a deleted tenant': [
    `update tenants set deleted_at = now() where id = '${tenantId}'`,
    /key alive under a deleted parent/,
  ],
  'a project deleted without its policy': [
    `update projects set deleted_at = now() where id = '${projectId}'`,
    /policy head and project disagree/,
  ],
  'a key without its credential': [
    `delete from credentials where id = '${key.id}'`,
    /credential and key differ/,
  ],
  'an epoch that was not raised': [
    `update tenants set embed_epoch = 1 where id = '${tenantId}'`,
    /the epoch differs from the log/,
  ],
  'an invitation without its audit row': [
    `insert into workspace_invites (workspace_id, id, email, address_key, role, digest, created_at, expires_at)
     values ('${workspaceId}', gen_random_uuid(), 'a@b.co', 'a@b.co', 'member', sha256('x'), now(), now())`,
    /workspace_invites: 0 audit rows of its birth/,
  ],
  'an invitation revoked without its audit row': [
    `update workspace_invites set revoked_at = now() where id = '${invite.id}'`,
    /workspace_invites: revoked_at but 0 rows of workspace_invite.revoked/,
  ],
  'an audit row of a person who never joined': [
    `delete from workspace_members where user_id = '${joined}'`,
    standing,
  ],
  'a role that no mutation gave': [
    `update workspace_members set role = 'owner' where user_id = '${joined}'`,
    standing,
  ],
  'a role that was lost': [
    `update workspace_members set role = 'member' where user_id = '${promoted}'`,
    standing,
  ],
  'a removal that was undone': [
    `update workspace_members set removed_at = null where user_id = '${removed}'`,
    standing,
  ],
  'a removal without its audit row': [
    `update workspace_members set removed_at = now() where user_id = '${promoted}'`,
    standing,
  ],
  'a cut tail': [
    `delete from audit_logs where workspace_id = '${workspaceId}'
       and seq = (select max(seq) from audit_logs where workspace_id = '${workspaceId}')`,
    /audit head: is not at the last row/,
  ],
  'a gap in the chain': [
    `delete from audit_logs where workspace_id = '${workspaceId}' and seq = 3`,
    /seq 4 does not follow the row before it/,
  ],
}

for (const [name, [statement, fault]] of Object.entries(halves)) {
  test(`faultsOf finds ${name}`, async () => {
    await query('begin')
    try {
      await query(statement)
      const faults = await faultsOf(query, workspaceId)
      assert.ok(
        faults.some(line => fault.test(line)),
        `${fault} is not among ${JSON.stringify(faults)}`,
      )
    } finally {
      await query('rollback')
    }
  })
}
