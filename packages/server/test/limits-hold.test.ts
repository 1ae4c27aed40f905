import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { permissions } from '@keyrail/contract/vendor/permissions'
import { parameterOf, type Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { startHarness } from './harness.ts'
import { makeInvite } from './mutations.ts'
import { makePerson } from './people.ts'
import { nameOf, sampleOf } from './samples.ts'
import { makeVendor } from './vendor.ts'

/** No way leads from a secret key that is limited to anything beyond its limits. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live, workspaceId } = vendor

async function makeLimited(limits: Record<string, unknown>): Promise<string> {
  const body = { env: 'live', ...limits }
  const made = await ask('POST', '/v1/secret_keys', { token: live, body })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body.key
}

const takers = routes.filter(({ access }) => !access.open && access.credentials.includes('secret_key'))

const limitsTried: [what: string, limits: Record<string, unknown>][] = [
  ['every permission', { permissions: [...permissions] }],
  ['what makes keys and members', { permissions: ['secret_keys:write', 'members:write', 'workspace:write'] }],
  ['one project', { project_ids: [vendor.projectId] }],
  ['one address', { allowed_cidrs: ['127.0.0.1'] }],
]
for (const [what, limits] of limitsTried) {
  test(`an owner’s key that is limited to ${what} finds no way to more, whatever route it tries`, async () => {
    let refused = 0
    for (const route of takers) {
      for (const { url, body } of await tries(route, limits)) {
        // Some of what is tried ends the key that tries.
        const key = await makeLimited(limits)
        const before = await powersOf(limits)
        const heard = await ask(route.method, url, { token: key, body })
        for (const found of await powersOf(limits)) {
          assert.ok(before.has(found), `${found} by ${nameOf(route)} ${JSON.stringify(body)}`)
        }
        if (heard.status === 403 || heard.status === 404) refused += 1
      }
    }
    assert.ok(refused >= 10, `${refused} were refused`)
  })
}

/** The request as it is meant, and with all that could take a limit away. */
async function tries(route: Route, limits: Record<string, unknown>) {
  if (route.method === 'GET') return []
  const sample = await sampleOf(route, harness, vendor)
  if (!/SecretKey|Member|Invite|Workspace/.test(route.operation)) return [sample]
  const unbound = { permissions: [...permissions], project_ids: [randomUUID()], allowed_cidrs: ['::/0'] }
  const email = `${randomBytes(6).toString('hex')}@example.com`
  const bodies = [
    sample.body,
    ...[{}, limits, unbound].flatMap(more => [
      { ...sample.body, ...more },
      { env: 'live', role: 'owner', ...more },
    ]),
    { ...sample.body, ...limits, preset: 'node' },
    { email, role: 'owner' },
    { role: 'owner' },
    {},
  ]
  const targets = parameterOf(route.path) === undefined ? [] : await targetsOf()
  const urls = [sample.url, ...targets.map(id => route.path.replace(/:\w+/, id))]
  return urls.flatMap(url => bodies.map(body => ({ url, body })))
}

/** What somebody would aim at who wants more: a key without limits, a person, an invitation. */
async function targetsOf(): Promise<string[]> {
  const key = await ask('POST', '/v1/secret_keys', { token: live, body: { env: 'live' } })
  const { userId } = await makePerson(query, { workspaceId, role: 'member' })
  return [key.body.id, userId, (await makeInvite({ ask, scene: vendor })).id]
}

/** All that somebody in the workspace has which a key with these limits has not. */
async function powersOf(limits: Record<string, unknown>): Promise<Set<string>> {
  const rows = await query(
    `select 'member ' || user_id || ' ' || role as found from workspace_members
     where workspace_id = $1 and removed_at is null
     union all select 'invitation ' || id from workspace_invites
     where workspace_id = $1 and revoked_at is null and accepted_at is null
     union all select 'secret key ' || id from secret_keys
     where workspace_id = $1 and revoked_at is null and not (
       ($2::text[] is null or coalesce(permissions <@ $2, false))
       and ($3::uuid[] is null or coalesce(project_ids <@ $3, false))
       and ($4::text is null or coalesce(allowed_cidrs = array[$4 || '/32'], false)))`,
    [
      workspaceId,
      limits.permissions ?? null,
      limits.project_ids ?? null,
      (limits.allowed_cidrs as string[] | undefined)?.[0] ?? null,
    ],
  )
  return new Set(rows.map(({ found }) => found))
}
