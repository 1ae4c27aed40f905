import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { bootstrapToken, startHarness } from './harness.ts'
import { type Field, type Fragment, type SpecRow, specRows } from './spec-rows.ts'

const { ask } = await startHarness()

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`
const served = specRows.filter(row => row.served)
const routeOf = new Map(routes.map(route => [nameOf(route), route]))

/** Routes that are not in the specification's rows. */
const beyondRows: Record<string, string> = {
  'GET /healthz': 'the specification says that probes exist and does not show their paths',
  'GET /readyz': 'the specification says that probes exist and does not show their paths',
  'GET /v1/healthz': 'every path starts with /v1',
  'GET /v1/readyz': 'every path starts with /v1',
  'GET /.well-known/jwks.json': 'the specification says that it exists and does not show its path',
  'GET /v1/.well-known/jwks.json': 'every path starts with /v1',
  'DELETE /v1/keys/ended': 'an owner makes room after an attack',
  'PATCH /v1/embed/keys/:id': 'a customer names a key anew, and ends it earlier, without a new one',
  'POST /v1/keys/:id/disable': 'a vendor stops a key without ending it',
  'POST /v1/keys/:id/enable': 'a vendor stops a key without ending it',
  'POST /v1/keys/revoke': 'all keys of a customer end with one call',
  'POST /v1/keys/disable': 'all keys of a customer stop with one call',
  'POST /v1/keys/enable': 'all keys of a customer stop with one call, and go on with another',
  'POST /v1/keys/count': 'a person sees how many keys a change of many concerns',
  'POST /v1/keys/import': 'customers of another system keep their keys',
  'GET /v1/keys/export': 'a vendor who leaves takes the keys along',
  'GET /v1/keys/bulk/:id': 'a change of many keys goes on after its answer',
  'PATCH /v1/embed/tenant': 'a customer says from where its keys may be used',
  'POST /v1/embed/keys/:id/disable': 'a customer stops a key without ending it',
  'POST /v1/embed/keys/:id/enable': 'a customer stops a key without ending it',
  'POST /v1/tenants/:id/suspend': 'a vendor stops all keys of a customer without ending one',
  'POST /v1/tenants/:id/resume': 'a vendor stops all keys of a customer without ending one',
  'PATCH /v1/secret_keys/:id': 'a name that no longer fits leads to the wrong key being revoked',
  'DELETE /v1/secret_keys/ended': 'an owner makes room after an attack',
  'POST /v1/keys/identify': 'support is sent a key, not an id',
  'GET /v1/keys/:id/explain': 'support answers why a key is refused, or is not',
  'POST /v1/keys/explain': 'support is sent a key, not an id',
  'POST /v1/keys/verify': 'a server in any language verifies a key with one call',
  'POST /v1/usage/reports': 'the specification has no route that receives usage',
  'POST /v1/ratelimit/checks': 'a node asks about all requests of a moment with one call',
  'POST /v1/idempotency/claims': 'a node claims and ends all requests of a moment with one call',
  'POST /v1/usage/refusals': 'nodes count what they refuse, by reason',
  'GET /v1/usage/refusals': 'people see why requests are refused without a look into the logs of their nodes',
  'GET /v1/projects/:id/nodes': 'people see which servers hold the keys, and which are behind',
  'GET /v1/usage/daily': 'a chart of a project or tenant, or of all of them, and not of one key',
  'GET /v1/usage/top': 'people look at who uses the most first, and pages of all tenants are many',
  'GET /v1/overview': 'the first screen of a person asks once and not nine times',
  'POST /v1/auth/invites/identify': 'a person sees who invites whom before they sign in',
  'POST /v1/auth/workspaces/adopt': 'a person takes over what a program has made with the bootstrap token',
  'POST /v1/auth/workspaces/:id/keep':
    'the owner of a mailbox decides about workspaces that somebody else made',
  'POST /v1/auth/workspaces/:id/leave': 'a person who moves on asks no owner to remove them',
  'DELETE /v1/auth/workspaces/:id': 'the owner of a mailbox decides about workspaces that somebody else made',
  'DELETE /v1/auth/sessions/others': 'a person with a lost device does not end a hundred sessions one by one',
  'GET /v1/security_events': 'refused requests and their sources are not in the audit log',
  'GET /v1/auth/security_events': 'a person sees the security events of their account',
  'GET /v1/audit_logs/export': 'a log of a million rows is too long for pages of 200',
  'GET /.well-known/audit-checkpoint-key': 'the key that verifies checkpoints is published beside the JWKS',
  'GET /v1/.well-known/audit-checkpoint-key': 'every path starts with /v1',
}

/** Bounds that are not those of the specification, each with what it has beyond them. */
const beyondBounds: Record<string, unknown> = {
  // A customer says from where its keys may be used.
  'POST /v1/embed_tokens body.scopes[] pattern':
    '^(?:keys:read|keys:write|network:write|key_scope:[\\s\\S]+)$',
}

/** Fields that are not in the specification's rows. */
const beyondFields: Record<string, string> = {
  'POST /v1/projects body.key_prefix': 'a project may choose a prefix for its keys',
  'PATCH /v1/projects/:id body.slug': 'a project may be renamed completely',
  'POST /v1/projects body.known_scopes': 'a typo in a scope is an outage',
  'POST /v1/projects body.strict_scopes': 'a typo in a scope is an outage',
  'PATCH /v1/projects/:id body.known_scopes': 'a typo in a scope is an outage',
  'PATCH /v1/projects/:id body.strict_scopes': 'a typo in a scope is an outage',
  'POST /v1/projects body.max_key_lifetime_days': 'a key that nobody replaces is seen by many',
  'POST /v1/projects body.lifetime': 'keys from before the rule are refused, or listed',
  'POST /v1/projects body.delete_protection': 'a deletion revokes all keys for good',
  'PATCH /v1/projects/:id body.max_key_lifetime_days': 'a key that nobody replaces is seen by many',
  'PATCH /v1/projects/:id body.lifetime': 'keys from before the rule are refused, or listed',
  'PATCH /v1/projects/:id body.delete_protection': 'a deletion revokes all keys for good',
  'POST /v1/tenants body.delete_protection': 'a deletion revokes all keys for good',
  'PATCH /v1/tenants/:id body.delete_protection': 'a deletion revokes all keys for good',
  'GET /v1/keys query.hygiene': 'which keys someone should look after',
  'GET /v1/keys query.days': 'which keys someone should look after',
  'GET /v1/projects query.slug': 'find by the vendor’s own name',
  'GET /v1/tenants query.external_id': 'find by the vendor’s own name',
  'GET /v1/projects query.q': 'people look for a name',
  'GET /v1/projects query.ids': 'a list shows the names of its rows',
  'GET /v1/tenants query.q': 'people look for a name',
  'GET /v1/tenants query.ids': 'a list shows the names of its rows',
  'GET /v1/keys query.q': 'people look for a name or a visible prefix',
  'GET /v1/keys query.status': 'which keys end soon, have ended or are revoked',
  'GET /v1/keys query.name': 'find by the vendor’s own name',
  'GET /v1/keys query.external_id': 'name a tenant by the vendor’s own id',
  'POST /v1/keys body.external_id': 'name a tenant by the vendor’s own id',
  'POST /v1/embed_tokens body.external_id': 'name a tenant by the vendor’s own id',
  'PATCH /v1/workspace body.embed_theme': 'the widget fits the pages of the vendor',
  'POST /v1/auth/sessions body.device_token': 'a device is kept apart from others in its network that guess',
  'POST /v1/embed_tokens body.create_tenant': 'the page of a customer without a tenant',
  'GET /v1/policy/delta query.leaving': 'no revocation waits for a server that has stopped',
  'GET /v1/policy/snapshot query.features': 'a node lists the features that it understands',
  'GET /v1/policy/delta query.features': 'a node lists the features that it understands',
  'GET /v1/policy/snapshot query.held_keys': 'the service shows which nodes are nearly full',
  'GET /v1/policy/snapshot query.held_keys_max': 'the service shows which nodes are nearly full',
  'GET /v1/policy/delta query.held_keys': 'the service shows which nodes are nearly full',
  'GET /v1/policy/delta query.held_keys_max': 'the service shows which nodes are nearly full',
  'GET /v1/projects query.limit': 'every list is paged',
  'GET /v1/projects query.cursor': 'every list is paged',
  'GET /v1/tenants query.limit': 'every list is paged',
  'GET /v1/tenants query.cursor': 'every list is paged',
  'GET /v1/keys query.cursor': 'every list is paged',
  'GET /v1/embed/keys query.cursor': 'every list is paged',
  'POST /v1/secret_keys body.permissions': 'a server’s key needs few of its role’s permissions',
  'POST /v1/secret_keys body.preset': 'names for common sets of permissions',
  'POST /v1/secret_keys body.project_ids': 'a key for one API should not reach another',
  'POST /v1/secret_keys body.allowed_cidrs': 'a stolen key is useless elsewhere',
  'POST /v1/keys body.allowed_cidrs': 'a stolen key is useless elsewhere',
  'PATCH /v1/keys/:id body.allowed_cidrs': 'a stolen key is useless elsewhere',
  'POST /v1/tenants body.allowed_cidrs': 'a customer uses its keys from its own networks',
  'PATCH /v1/tenants/:id body.allowed_cidrs': 'a customer uses its keys from its own networks',
  'GET /v1/secret_keys query.env': 'the same filter as GET /v1/keys',
  'GET /v1/secret_keys query.include_revoked': 'the same filter as GET /v1/keys',
  'GET /v1/secret_keys query.made_by': 'what a revoked maker has made, in pages',
  'GET /v1/secret_keys query.limit': 'every list is paged',
  'GET /v1/secret_keys query.cursor': 'every list is paged',
  'POST /v1/secret_keys/:id/revoke body.cascade': 'a thief may have made the keys that a stolen key made',
  'PATCH /v1/members/:userId body.revoke_keys': 'as for secret keys',
  'DELETE /v1/members/:userId query.revoke_keys': 'as for secret keys',
  'GET /v1/audit_logs query.cursor': 'every list is paged',
  'GET /v1/audit_logs query.order': 'people read the newest rows first',
  'GET /v1/audit_logs query.before_seq': 'the counterpart of after_seq for the newest first',
  'GET /v1/audit_logs query.action': 'find what happened',
  'GET /v1/audit_logs query.actor_id': 'find what somebody did',
  'GET /v1/audit_logs query.target_id': 'find what happened to something',
  'GET /v1/audit_logs query.created_after': 'find what happened on a day',
  'GET /v1/audit_logs query.created_before': 'find what happened on a day',
  'GET /v1/audit_logs query.env': 'the same filter as GET /v1/keys',
  'GET /v1/auth/sessions query.limit': 'every list is paged',
  'GET /v1/auth/sessions query.cursor': 'every list is paged',
  'GET /v1/members query.limit': 'every list is paged',
  'GET /v1/members query.cursor': 'every list is paged',
  'GET /v1/invites query.limit': 'every list is paged',
  'GET /v1/invites query.cursor': 'every list is paged',
  'GET /v1/usage/tenants query.month': 'people read one month, not all months since',
  'GET /v1/usage/tenants query.limit': 'every list is paged',
  'GET /v1/usage/tenants query.cursor': 'every list is paged',
}

test('the table has every endpoint row of the specification once', () => {
  assert.equal(specRows.length, 65)
  assert.equal(new Set(specRows.map(nameOf)).size, 65)
})

test('every route is in the specification or the list of extras, and no extra is stale', () => {
  const rows = new Set(served.map(nameOf))
  const extras = [...routeOf.keys()].filter(name => !rows.has(name))
  assert.deepEqual(extras.toSorted(), Object.keys(beyondRows).toSorted())
})

for (const row of served) {
  test(`${nameOf(row)} accepts and returns what the specification says`, () => {
    const route = routeOf.get(nameOf(row))
    assert.ok(route, 'is marked as served but is not a route')
    assert.deepEqual(kindsOf(route).toSorted(), row.credentials.toSorted())
    assert.equal(route.answer.status, row.status)
    assertFields(`${nameOf(row)} query`, row.query, route.query as Fragment)
    assertFields(`${nameOf(row)} body`, row.body, (route.body ?? {}) as Fragment)
    if (route.body !== null) assert.equal((route.body as Fragment).additionalProperties, false)
  })
}

test('every schema of a route is valid JSON Schema 2020-12', () => {
  const ajv = new Ajv2020({ strict: false })
  const isValid = (schema: Fragment) => ajv.validateSchema(schema)
  assert.equal(isValid({ type: 'text' }), false)
  for (const route of routes) {
    for (const schema of [route.query, route.body, route.answer.schema])
      assert.ok(isValid((schema ?? {}) as Fragment), nameOf(route))
  }
})

test('every listed field beyond the specification exists on a route', () => {
  const names = routes.flatMap(route => [
    ...fieldsOf(route.query as Fragment).map(field => `${nameOf(route)} query.${field}`),
    ...fieldsOf((route.body ?? {}) as Fragment).map(field => `${nameOf(route)} body.${field}`),
  ])
  for (const name of Object.keys(beyondFields)) assert.ok(names.includes(name), name)
})

test('a row marked as not served is not a route', async () => {
  for (const row of specRows.filter(({ served }) => !served)) {
    assert.equal(routeOf.get(nameOf(row)), undefined, nameOf(row))
    const url = row.path.replace(/:\w+/, '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11')
    const { status, body } = await ask(row.method, url, { token: bootstrapToken })
    const expected = isServedPath(row) ? 'method_not_allowed' : 'route_not_found'
    assert.equal(body.code, expected, `${nameOf(row)} answered ${status}`)
  }
})

const isServedPath = (row: SpecRow) => served.some(({ path }) => path === row.path)

const kindsOf = ({ access }: Route): string[] => (access.open ? [] : [...access.credentials])

const fieldsOf = (schema: Fragment) => Object.keys((schema.properties as object | undefined) ?? {})

/** Asserts that every field of the row has its bounds, and that every other field is listed with a reason. */
function assertFields(at: string, expected: Record<string, Field>, schema: Fragment): void {
  const properties = (schema.properties ?? {}) as Record<string, Fragment>
  const required = (schema.required ?? []) as string[]
  for (const name of Object.keys(properties)) {
    if (expected[name] === undefined)
      assert.ok(beyondFields[`${at}.${name}`], `${at}.${name} is in no row and not listed`)
  }
  for (const [name, field] of Object.entries(expected)) {
    const found = properties[name]
    assert.ok(found, `${at}.${name} is missing`)
    const instead = (schema.oneOf as { required: string[] }[] | undefined)?.map(one => one.required.join())
    if (instead?.includes(name)) assert.deepEqual(instead, ['tenant_id', 'external_id'], `${at}.${name}`)
    else assert.equal(required.includes(name), field.required, `${at}.${name} required`)
    assertHolds(`${at}.${name}`, field.schema, found)
    assert.deepEqual(nullability(found), nullability(field.schema), `${at}.${name} null`)
  }
}

test('a route that ends a right looks its target up before it waits', () => {
  const blind = routes.filter(
    ({ path, endsRights, target }) => endsRights && /\/:/.test(path) && target === null,
  )
  assert.deepEqual(blind.map(nameOf), [])
  const ends = routes.filter(({ endsRights }) => endsRights).map(nameOf)
  assert.ok(ends.length >= 9, ends.join(', '))
  const others = routes.filter(({ path, endsRights }) => /\/revoke$/.test(path) && !endsRights)
  assert.deepEqual(others.map(nameOf), [], 'each revocation waits in the line of endings')
})

/** Keywords that describe and do not restrict, the two bounds of `meta` and the rule for names: only this service has these. */
const harmless = ['description', 'examples', 'additionalProperties', 'x-max-bytes', 'x-max-members', 'x-name']

/** Asserts equal bounds: every keyword of the specification with its value, and no further restriction. */
function assertHolds(at: string, expected: Fragment, found: Fragment): void {
  for (const keyword of Object.keys(found)) {
    assert.ok(
      keyword in expected || harmless.includes(keyword),
      `${at} has a bound that is not in the specification: ${keyword}`,
    )
  }
  for (const [keyword, value] of Object.entries(expected)) {
    if (keyword === 'items') assertHolds(`${at}[]`, value as Fragment, found.items as Fragment)
    else if (keyword === 'properties') {
      const [inner, own] = [value, found.properties] as Record<string, Fragment>[]
      for (const name of Object.keys(inner ?? {})) {
        assertHolds(`${at}.${name}`, inner?.[name] ?? {}, own?.[name] ?? {})
      }
    } else assert.deepEqual(found[keyword], beyondBounds[`${at} ${keyword}`] ?? value, `${at} ${keyword}`)
  }
}

const nullability = ({ type }: Fragment) => Array.isArray(type) && type.includes('null')
