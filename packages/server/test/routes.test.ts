import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { bootstrapToken, startHarness } from './harness.ts'
import { type Field, type Fragment, type SpecRow, specRows } from './spec-rows.ts'

const { ask } = await startHarness()

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`
const served = specRows.filter(row => row.served)
const routeOf = new Map(routes.map(route => [nameOf(route), route]))

/** Routes that no row of the specification shows. */
const beyondRows: Record<string, string> = {
  'GET /healthz': 'the specification says that probes exist and does not show their paths',
  'GET /readyz': 'the specification says that probes exist and does not show their paths',
  'GET /v1/healthz': 'every path starts with /v1',
  'GET /v1/readyz': 'every path starts with /v1',
  'GET /.well-known/jwks.json': 'the specification says that it exists and does not show its path',
  'GET /v1/.well-known/jwks.json': 'every path starts with /v1',
  'POST /v1/usage/reports': 'the specification shows no way in for what usage tells',
  'GET /v1/security_events': 'who was refused, and from where, stands in no audit log',
  'GET /v1/auth/security_events': 'a person sees what befell their own account',
  'GET /v1/audit_logs/export': 'a log of a million rows is not read by pages of 200',
  'GET /.well-known/audit-checkpoint-key': 'what verifies the checkpoint of a chain stands beside the JWKS',
  'GET /v1/.well-known/audit-checkpoint-key': 'every path starts with /v1',
}

/** Fields that no row of the specification shows. */
const beyondFields: Record<string, string> = {
  'POST /v1/projects body.key_prefix': 'the keys of a project may carry a prefix of their own',
  'PATCH /v1/projects/:id body.slug': 'a project may be renamed whole',
  'GET /v1/projects query.slug': 'a thing is found by the name that its owner gave it',
  'GET /v1/tenants query.external_id': 'a thing is found by the name that its owner gave it',
  'GET /v1/keys query.name': 'a thing is found by the name that its owner gave it',
  'GET /v1/keys query.external_id': 'a tenant is named by what its owner calls it',
  'POST /v1/keys body.external_id': 'a tenant is named by what its owner calls it',
  'POST /v1/embed_tokens body.external_id': 'a tenant is named by what its owner calls it',
  'GET /v1/policy/snapshot query.features': 'a node says what it can read, and the service what it must',
  'GET /v1/policy/delta query.features': 'a node says what it can read, and the service what it must',
  'GET /v1/projects query.limit': 'every list is paged',
  'GET /v1/projects query.cursor': 'every list is paged',
  'GET /v1/tenants query.limit': 'every list is paged',
  'GET /v1/tenants query.cursor': 'every list is paged',
  'GET /v1/keys query.cursor': 'every list is paged',
  'GET /v1/embed/keys query.cursor': 'every list is paged',
  'POST /v1/secret_keys body.permissions': 'a key of a server has no use for most of what its role may do',
  'POST /v1/secret_keys body.preset': 'names for what most keys are made for',
  'POST /v1/secret_keys body.project_ids': 'a key of one API has no business with another',
  'POST /v1/secret_keys body.allowed_cidrs': 'a stolen key is of no use elsewhere',
  'GET /v1/secret_keys query.env': 'filtered as GET /v1/keys is',
  'GET /v1/secret_keys query.include_revoked': 'filtered as GET /v1/keys is',
  'GET /v1/secret_keys query.limit': 'every list is paged',
  'GET /v1/secret_keys query.cursor': 'every list is paged',
  'POST /v1/secret_keys/:id/revoke body.cascade':
    'what a key has made may have been made by whoever stole it',
  'PATCH /v1/members/:userId body.revoke_keys': 'as for secret keys',
  'DELETE /v1/members/:userId query.revoke_keys': 'as for secret keys',
  'GET /v1/audit_logs query.cursor': 'every list is paged',
  'GET /v1/auth/sessions query.limit': 'every list is paged',
  'GET /v1/auth/sessions query.cursor': 'every list is paged',
  'GET /v1/members query.limit': 'every list is paged',
  'GET /v1/members query.cursor': 'every list is paged',
  'GET /v1/invites query.limit': 'every list is paged',
  'GET /v1/invites query.cursor': 'every list is paged',
  'GET /v1/usage/tenants query.limit': 'every list is paged',
  'GET /v1/usage/tenants query.cursor': 'every list is paged',
}

test('the table has every endpoint row of the specification once', () => {
  assert.equal(specRows.length, 65)
  assert.equal(new Set(specRows.map(nameOf)).size, 65)
})

test('every route is a row of the specification or stands in the list of extras, and none of these is stale', () => {
  const rows = new Set(served.map(nameOf))
  const extras = [...routeOf.keys()].filter(name => !rows.has(name))
  assert.deepEqual(extras.toSorted(), Object.keys(beyondRows).toSorted())
})

for (const row of served) {
  test(`${nameOf(row)} takes and answers what the specification says`, () => {
    const route = routeOf.get(nameOf(row))
    assert.ok(route, 'is marked as served and is no route')
    assert.deepEqual(kindsOf(route).toSorted(), row.credentials.toSorted())
    assert.equal(route.answer.status, row.status)
    assertFields(`${nameOf(row)} query`, row.query, route.query as Fragment)
    assertFields(`${nameOf(row)} body`, row.body, (route.body ?? {}) as Fragment)
    if (route.body !== null) assert.equal((route.body as Fragment).additionalProperties, false)
  })
}

test('no field beyond the specification is listed that no route has', () => {
  const names = routes.flatMap(route => [
    ...fieldsOf(route.query as Fragment).map(field => `${nameOf(route)} query.${field}`),
    ...fieldsOf((route.body ?? {}) as Fragment).map(field => `${nameOf(route)} body.${field}`),
  ])
  for (const name of Object.keys(beyondFields)) assert.ok(names.includes(name), name)
})

test('a row that is marked as not served is really not served', async () => {
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

/** Every field of the row is there with its bounds, and every other one stands in the list with a reason. */
function assertFields(at: string, expected: Record<string, Field>, schema: Fragment): void {
  const properties = (schema.properties ?? {}) as Record<string, Fragment>
  const required = (schema.required ?? []) as string[]
  for (const name of Object.keys(properties)) {
    if (expected[name] === undefined) assert.ok(beyondFields[`${at}.${name}`], `${at}.${name} is no row’s`)
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

/** Keywords that tell and do not bound, and the two bounds of `meta` that only this service has. */
const harmless = ['description', 'examples', 'additionalProperties', 'x-max-bytes', 'x-max-members']

/** The same bounds: every keyword of the specification with its value, and none that narrows it. */
function assertHolds(at: string, expected: Fragment, found: Fragment): void {
  for (const keyword of Object.keys(found)) {
    assert.ok(keyword in expected || harmless.includes(keyword), `${at} has a bound of its own: ${keyword}`)
  }
  for (const [keyword, value] of Object.entries(expected)) {
    if (keyword === 'items') assertHolds(`${at}[]`, value as Fragment, found.items as Fragment)
    else if (keyword === 'properties') {
      const [inner, own] = [value, found.properties] as Record<string, Fragment>[]
      for (const name of Object.keys(inner ?? {})) {
        assertHolds(`${at}.${name}`, inner?.[name] ?? {}, own?.[name] ?? {})
      }
    } else assert.deepEqual(found[keyword], value, `${at} ${keyword}`)
  }
}

const nullability = ({ type }: Fragment) => Array.isArray(type) && type.includes('null')
