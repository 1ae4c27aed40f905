import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { openStatementWork } from '../../test/statement-work.ts'
import { makeProject, makeVendor } from '../../test/vendor.ts'
import { prefixRange } from '../platform/paging/prefix.ts'
import type { WalkPosition } from '../platform/paging/walks.ts'
import { type KeyWalk, keyWalkStatement } from './search-sql.ts'

/** 100,000 keys of one workspace, nearly all with the same prefix, project and environment. */
const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)
const { workspaceId, projectId, tenantId } = vendor
const small = await makeProject(harness, vendor)
await query(
  `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, expires_at,
     revoked_at, disabled_at, disabled_by, created_at, updated_at)
   select $1, gen_random_uuid(), case when n % 5000 = 7 then $4::uuid else $2::uuid end, $3,
     case when n % 5000 = 0 then 'test' else 'live' end, 'Key ' || n, 'kr_live_' || substr(md5(n::text), 1, 4),
     sha256(n::text::bytea), case n % 10 when 1 then now() - n * interval '1 minute'
       when 2 then now() + n * interval '1 minute' end,
     case when n % 10 = 3 then now() end, case when n % 10 = 3 or n % 1000 = 4 then now() end,
     case when n % 10 = 3 or n % 1000 = 4 then 'vendor' end, now(), now()
   from generate_series(1, 100000) n`,
  [workspaceId, projectId, tenantId, small.id],
)
await query('analyze api_keys')
const readRows = await openStatementWork(harness)

const limit = 51
const all: KeyWalk = {
  order: 'id',
  env: 'live',
  isRevoked: false,
  status: null,
  hygiene: null,
  range: null,
  id: null,
  projectIds: null,
  projectId: null,
  tenantId: null,
  name: null,
}
const [middle] = await query(
  `select id, name_folded, display_prefix_folded, expires_at from api_keys
   where workspace_id = $1 and name = 'Key 50002'`,
  [workspaceId],
)
const behind = (value: string): WalkPosition => ({ value, id: middle.id })

const walks: Record<string, { walk: Partial<KeyWalk>; after?: WalkPosition; index: RegExp; most?: number }> =
  {
    'a name that one key has': {
      walk: { order: 'name', range: prefixRange('key 77777') },
      index: /by_name_folded/,
    },
    'a name that every key has': {
      walk: { order: 'name', range: prefixRange('KEY') },
      index: /by_name_folded/,
    },
    'a later page of such names': {
      walk: { order: 'name', range: prefixRange('key') },
      after: behind(middle.name_folded),
      index: /by_name_folded/,
    },
    'a name in the environment of few keys': {
      walk: { order: 'name', range: prefixRange('key'), env: 'test' },
      index: /by_name_folded/,
    },
    'a name among the revoked': {
      walk: { order: 'name', range: prefixRange('key'), isRevoked: true, status: 'revoked' },
      index: /by_name_folded/,
    },
    'a name of an active key': {
      walk: { order: 'name', range: prefixRange('key'), status: 'active' },
      index: /by_name_folded/,
      most: 2 * limit,
    },
    'a prefix that every key has': {
      walk: { order: 'display_prefix', range: prefixRange('kr_live') },
      index: /by_display_prefix_folded/,
    },
    'a later page of such prefixes': {
      walk: { order: 'display_prefix', range: prefixRange('kr_live') },
      after: behind(middle.display_prefix_folded),
      index: /by_display_prefix_folded/,
    },
    'an id': { walk: { id: middle.id }, index: /pkey|by_revocation/ },
    'the active': { walk: { status: 'active' }, index: /by_revocation/, most: 2 * limit },
    'the active of the environment with few keys': {
      walk: { status: 'active', env: 'test' },
      index: /by_revocation/,
    },
    'the revoked': { walk: { status: 'revoked', isRevoked: true }, index: /by_revocation/ },
    'the paused, of which nearly all are revoked': { walk: { status: 'disabled' }, index: /paused/ },
    'the paused of a project with few keys': {
      walk: { status: 'disabled', projectId: small.id },
      index: /paused|in_project/,
      most: 120,
    },
    'the expiring': { walk: { order: 'expiring', status: 'expiring' }, index: /by_expiry/ },
    'a later page of the expiring': {
      walk: { order: 'expiring', status: 'expiring' },
      after: behind(new Date(Date.now() + 86_400_000).toISOString()),
      index: /by_expiry/,
    },
    'the expired': { walk: { order: 'expired', status: 'expired' }, index: /by_expiry/ },
    'a later page of the expired': {
      walk: { order: 'expired', status: 'expired' },
      after: behind(new Date(Date.now() - 86_400_000).toISOString()),
      index: /by_expiry/,
    },
    'the active of a project with few keys': {
      walk: { status: 'active', projectId: small.id },
      index: /in_project/,
    },
    'the revoked of a project with few keys': {
      walk: { status: 'revoked', isRevoked: true, projectId: small.id },
      index: /in_project/,
    },
    'the expiring of a project with few keys': {
      walk: { order: 'expiring', status: 'expiring', projectId: small.id },
      index: /in_project/,
    },
    'a name in a project with few keys': {
      walk: { order: 'name', range: prefixRange('key'), projectId: small.id },
      index: /in_project/,
    },
    'a name in the projects of a limited key': {
      walk: { order: 'name', range: prefixRange('key'), projectIds: [small.id] },
      index: /in_project/,
    },
  }

for (const [what, { walk, after = null, index, most = limit }] of Object.entries(walks)) {
  test(`${what}, among 100,000 keys, costs a page`, async () => {
    const { statement, values } = keyWalkStatement(workspaceId, { ...all, ...walk }, after, limit)
    // As `prepareWalks` asks for.
    const { rows, indexes, plan } = await readRows(workspaceId, 'custom', statement, values)
    assert.ok(rows <= most, `${rows} rows\n${plan}`)
    assert.equal(indexes.length, 1, plan)
    assert.match(indexes[0] ?? '', index, plan)
  })
}
