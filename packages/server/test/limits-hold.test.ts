import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { permissions } from '@keyrail/contract/vendor/permissions'
import { parameterOf, type Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { startHarness } from './harness.ts'
import { makePerson } from './people.ts'
import { nameOf, sampleOf } from './samples.ts'
import { makeInvite, makeSecretKey, makeVendor } from './vendor.ts'

/** A limited secret key cannot gain anything beyond its limits. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { workspaceId } = vendor

const makeLimited = async (limits: Record<string, unknown>): Promise<string> =>
  (await makeSecretKey(harness, vendor, limits)).key

const takers = routes.filter(({ access }) => !access.open && access.credentials.includes('secret_key'))

const limitsTried: [what: string, limits: Record<string, unknown>][] = [
  ['every permission', { permissions: [...permissions] }],
  [
    'permissions that make keys and members',
    { permissions: ['secret_keys:write', 'members:write', 'workspace:write'] },
  ],
  ['one project', { project_ids: [vendor.projectId] }],
  ['one address', { allowed_cidrs: ['127.0.0.1'] }],
]
for (const [what, limits] of limitsTried) {
  test(`an owner’s key limited to ${what} gains nothing beyond it on any route`, async () => {
    let refused = 0
    for (const route of takers) {
      for (const { url, body } of await tries(route, limits)) {
        // Some requests end the key that sends them.
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

/** The sample request, plain and with every value that could lift a limit. */
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

/** Targets of an attacker who wants more rights: a key without limits, a person, an invitation. */
async function targetsOf(): Promise<string[]> {
  const { id } = await makeSecretKey(harness, vendor)
  const { userId } = await makePerson(query, { workspaceId, role: 'member' })
  return [id, userId, (await makeInvite(harness, vendor)).id]
}

/** Everything in the workspace that exceeds these limits. */
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
