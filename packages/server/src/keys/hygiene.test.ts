import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { openStatementWork } from '../../test/statement-work.ts'
import { makeProject, makeTenant, makeVendor } from '../../test/vendor.ts'
import { type KeyWalk, keyWalkStatement } from './search-sql.ts'

/** Lists of keys that should be looked after. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live, workspaceId, projectId, tenantId } = vendor

interface Made {
  readonly name: string
  readonly madeDaysAgo?: number
  readonly usedDaysAgo?: number
  readonly endsInDays?: number
  readonly state?: 'paused' | 'revoked'
  readonly env?: 'live' | 'test'
  readonly project?: string
  readonly tenant?: string
}
/** Ids begin with the time at which a key was made, as those of the service. */
async function make(one: Made): Promise<void> {
  const { name, madeDaysAgo = 0, usedDaysAgo = null, endsInDays = null, state = null } = one
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, created_at,
       updated_at, last_used_at, idle_since, expires_at, revoked_at, disabled_at, disabled_by)
     select $1, (lpad(to_hex((extract(epoch from m.made) * 1000)::bigint), 12, '0') || '7' || substr(md5($5), 1, 3) || '8'
         || substr(md5($5), 4, 15))::uuid,
       $2, $3, $4, $5, 'kr_live_abcd', sha256($5::bytea), m.made, m.made, m.used, coalesce(m.used, m.made),
       now() + $8::float8 * interval '1 day', case when $9 = 'revoked' then now() end,
       case when $9 = 'paused' then now() end, case when $9 = 'paused' then 'vendor' end
     from (select now() - $6::float8 * interval '1 day' as made, now() - $7::float8 * interval '1 day' as used) m`,
    [
      workspaceId,
      one.project ?? projectId,
      one.tenant ?? tenantId,
      one.env ?? 'live',
      name,
      madeDaysAgo,
      usedDaysAgo,
      endsInDays,
      state,
    ],
  )
}

const other = await makeProject(harness, vendor)
const tenant = await makeTenant(harness, vendor)
for (const one of [
  { name: 'new' },
  { name: 'old, used today', madeDaysAgo: 400, usedDaysAgo: 0 },
  { name: 'old, used long ago', madeDaysAgo: 300, usedDaysAgo: 200 },
  { name: 'old, never used', madeDaysAgo: 250 },
  { name: 'younger, never used', madeDaysAgo: 20, endsInDays: 10 },
  { name: 'ends soon', endsInDays: 5, usedDaysAgo: 1, madeDaysAgo: 50 },
  { name: 'ends later', endsInDays: 40 },
  { name: 'of test', madeDaysAgo: 260, env: 'test' },
  { name: 'of another project', madeDaysAgo: 270, project: other.id, endsInDays: 13 },
  { name: 'of another tenant', madeDaysAgo: 265, tenant: tenant.id, endsInDays: 100 },
  { name: 'expired', madeDaysAgo: 500, endsInDays: -1 },
  { name: 'paused', madeDaysAgo: 500, state: 'paused' },
  { name: 'revoked', madeDaysAgo: 500, state: 'revoked' },
] satisfies Made[])
  await make(one)
await ask('PATCH', `/v1/projects/${projectId}`, { token: live, body: { max_key_lifetime_days: 255 } })

const list = (more: string, token = live) => ask('GET', `/v1/keys?${more}`, { token })
const names = async (more: string, token = live): Promise<string[]> => {
  const { status, body } = await list(more, token)
  assert.equal(status, 200, JSON.stringify(body))
  return body.data.map(({ name }: { name: string }) => name)
}
const idle = ['of another project', 'of another tenant', 'of test', 'old, never used', 'old, used long ago']

test('each list has its keys in its order, of both environments or of one', async () => {
  assert.deepEqual(await names('hygiene=never_expires'), [
    'old, used today',
    'old, used long ago',
    'of test',
    'old, never used',
    'new',
  ])
  assert.deepEqual(await names('hygiene=expiring'), [
    'ends soon',
    'younger, never used',
    'of another project',
  ])
  assert.deepEqual(await names('hygiene=expiring&days=40&env=live'), [
    'ends soon',
    'younger, never used',
    'of another project',
    'ends later',
  ])
  assert.deepEqual(await names('hygiene=idle'), idle)
  assert.deepEqual(await names('hygiene=unused&env=live'), [
    'of another project',
    'of another tenant',
    'old, never used',
  ])
  assert.deepEqual(await names('hygiene=unused&days=15&env=live'), [
    'of another project',
    'of another tenant',
    'old, never used',
    'younger, never used',
  ])
  assert.deepEqual(await names(`hygiene=too_old&project_id=${projectId}`), [
    'old, used today',
    'old, used long ago',
    'of another tenant',
    'of test',
  ])
  assert.deepEqual(await names(`hygiene=too_old&project_id=${other.id}`), [])
})

test('lists are narrowed, and go on where a page ended', async () => {
  assert.deepEqual(await names('hygiene=idle', vendor.test), ['of test'])
  assert.deepEqual(await names(`hygiene=idle&project_id=${other.id}`), ['of another project'])
  assert.deepEqual(await names(`hygiene=idle&tenant_id=${tenant.id}`), ['of another tenant'])
  for (const hygiene of [
    'hygiene=idle',
    'hygiene=never_expires',
    'hygiene=expiring&days=50',
    `hygiene=too_old&project_id=${projectId}`,
  ]) {
    const paged: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await list(`${hygiene}&limit=2${cursor}`)
      paged.push(...body.data.map(({ name }: { name: string }) => name))
      if (!body.has_more) break
      cursor = `&cursor=${body.next_cursor}`
    }
    assert.deepEqual(paged, await names(hygiene))
  }
})

test('a bulk action takes the same keys', async () => {
  const count = async (filter: object, action = 'disable') =>
    (await ask('POST', '/v1/keys/count', { token: live, body: { action, filter } })).body
  assert.equal((await count({ hygiene: 'idle' })).count, idle.length)
  assert.equal((await count({ hygiene: 'idle', env: 'test' })).count, 1)
  assert.equal((await count({ hygiene: 'too_old', project_id: projectId })).count, 4)
  assert.equal((await count({ hygiene: 'never_expires' })).count, 5)
  assert.equal((await count({ hygiene: 'expiring', days: 40 })).count, 4)
  const refused = await count({ hygiene: 'too_old' })
  assert.deepEqual([refused.status, refused.errors[0].path], [400, 'filter.project_id'])
  const body = { filter: { hygiene: 'unused', env: 'live', days: 260 }, expect: 2 }
  const done = await ask('POST', '/v1/keys/disable?wait=true', { token: live, body })
  assert.deepEqual([done.body.status, done.body.done], ['done', 2])
  assert.equal((await count({ hygiene: 'unused', env: 'live', days: 260 })).count, 0)
  await ask('POST', '/v1/keys/enable', { token: live, body: { filter: { env: 'live' }, expect: 3 } })
})

test('what does not go together is refused by its name', async () => {
  for (const [more, path] of [
    ['hygiene=dusty', 'hygiene'],
    ['hygiene=idle&days=0', 'days'],
    ['hygiene=idle&days=3651', 'days'],
    ['hygiene=never_expires&days=3', 'days'],
    ['days=3', 'days'],
    ['hygiene=too_old', 'project_id'],
    ['hygiene=idle&q=old', 'q'],
    ['hygiene=idle&status=active', 'status'],
    ['hygiene=idle&name=new', 'name'],
    ['hygiene=idle&include_revoked=true', 'include_revoked'],
  ] as const) {
    const { status, body } = await list(more)
    assert.deepEqual([status, body.errors?.[0].path], [400, path], more)
  }
})

test('no list reads more keys than it has, among 60,000 that need nothing', async () => {
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, created_at, updated_at,
       last_used_at, idle_since, expires_at)
     select $1, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8'
         || substr(md5(n::text), 4, 15))::uuid,
       $2, $3, 'live', 'kr_live_abcd', sha256(n::text::bytea), now(), now(), now(), now(), now() + interval '100 days'
     from generate_series(1, 60000) n`,
    [workspaceId, projectId, tenantId],
  )
  await query('analyze api_keys')
  const readRows = await openStatementWork(harness)
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
  const walks: Partial<KeyWalk>[] = [
    { order: 'endless', hygiene: { hygiene: 'never_expires', days: null, projectId: null } },
    { order: 'expiring', hygiene: { hygiene: 'expiring', days: null, projectId: null } },
    { order: 'idle', hygiene: { hygiene: 'idle', days: null, projectId: null } },
    { order: 'idle', hygiene: { hygiene: 'unused', days: null, projectId: null } },
    { order: 'oldest', projectId, hygiene: { hygiene: 'too_old', days: null, projectId } },
  ]
  for (const walk of walks) {
    const { statement, values } = keyWalkStatement(workspaceId, { ...all, ...walk }, null, 51)
    const { rows, plan } = await readRows(workspaceId, 'custom', statement, values)
    assert.ok(rows < 40, `${walk.hygiene?.hygiene}: ${rows}\n${plan}`)
  }
})
