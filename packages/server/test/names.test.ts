import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { startHarness } from './harness.ts'
import { addMember, makePerson } from './people.ts'
import { nameOf, type Sample, sampleOf } from './samples.ts'
import { issueKey, makeVendor } from './vendor.ts'

/** Every text of every body is a name, or has a reason why it is none. Names that no person could read are refused everywhere. */
const harness = await startHarness()
const { ask, query } = harness

interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly [keyword: string]: unknown
}

/** The texts of a schema that have no form, each with its path. */
function textsOf(schema: Schema, path: readonly string[] = []): { path: string; schema: Schema }[] {
  const isText = [schema.type].flat().includes('string')
  const hasForm = ['enum', 'const', 'format', 'pattern', 'contentEncoding'].some(one => one in schema)
  return [
    ...(isText && !hasForm ? [{ path: path.join('.'), schema }] : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => textsOf(inner, [...path, name])),
    ...(schema.items === undefined ? [] : textsOf(schema.items, [...path, '*'])),
  ]
}

/** Texts of bodies that name nothing, by their path or its last part. */
const others: Record<string, string> = {
  'scopes.*': 'a scope is compared, not read',
  'known_scopes.*': 'a scope is compared, not read',
  external_id: 'an id of the vendor’s own system',
  'origins.*': 'must equal a registered origin',
  'allowed_cidrs.*': 'is parsed',
  ip: 'is parsed',
  reason: 'nothing may keep a person from revoking a key',
  password: 'a secret',
  current_password: 'a secret',
  token: 'a secret',
  device_token: 'a secret',
  lock_token: 'a secret',
  secret_key: 'a secret',
  key: 'a secret',
  'filter.name': 'finds names, also older ones',
}
const reasonFor = (path: string) => others[path] ?? others[/(?:[^.]+\.\*|[^.]+)$/.exec(path)?.[0] ?? '']

const named = routes.flatMap(route => {
  const names = textsOf((route.body ?? {}) as Schema).filter(({ schema }) => schema['x-name'] === true)
  return names.length === 0 ? [] : [{ route, names: names.map(({ path }) => path) }]
})

test('every text of a body is a name, or is listed with the reason why not', () => {
  const unlisted = routes.flatMap(route =>
    textsOf((route.body ?? {}) as Schema)
      .filter(({ path, schema }) => schema['x-name'] !== true && reasonFor(path) === undefined)
      .map(({ path }) => `${nameOf(route)}: ${path}`),
  )
  assert.deepEqual(unlisted, [])
  const operations = named.map(({ route }) => route.operation)
  assert.ok(operations.length >= 13, operations.join(', '))
})

test('no answer and no filter has the rule for names: older names are still read and found', () => {
  for (const route of routes) {
    const shapes = [route.answer.schema, route.answer.lines ?? {}, route.query]
    assert.doesNotMatch(JSON.stringify(shapes), /x-name/, nameOf(route))
  }
})

const visible = 'must have at least one visible character'
const bad: readonly (readonly [text: string, message: string])[] = [
  [' ', visible],
  ['\u3000', visible],
  ['\u200b\u200d', visible],
  ['\u0301', visible],
  ['\u3164', visible],
  ['\u2800', visible],
  ['\u{e0041}', visible],
  ['\u00ad', visible],
  ['a\nb', 'must not have the unprintable character U+000A'],
  ['a\u0007', 'must not have the unprintable character U+0007'],
  ['a\u009b', 'must not have the unprintable character U+009B'],
  ['a\u2028b', 'must not have the unprintable character U+2028'],
  ['a\uffff', 'must not have the unprintable character U+FFFF'],
  ['\u202eadmin', 'must not have U+202E, which changes the direction of text'],
  ['\u2066a\u2069', 'must not have U+2066, which changes the direction of text'],
]
const good = ['👩‍💻', 'می‌خواهم', 'ABC \u200eשרת', '支払い']

/** A body with another value at a path. */
const withValue = (body: unknown, [first = '', ...rest]: readonly string[], value: unknown): object => {
  const members = (body ?? {}) as Record<string, unknown>
  return { ...members, [first]: rest.length === 0 ? value : withValue(members[first], rest, value) }
}

/** What a name needs beside it. */
const beside: Record<string, (sample: Sample) => object> = {
  'createEmbedToken create_tenant.name': ({ body }) => {
    const { tenant_id: _, ...rest } = body ?? {}
    return { ...rest, external_id: 'new-customer' }
  },
}

async function send(route: Route, path: string, value: string, sample: Sample) {
  const { url, token, body } = sample
  const own = beside[`${route.operation} ${path}`]?.(sample) ?? body
  return await ask(route.method, url, {
    ...(token !== undefined && { token }),
    body: withValue(own, path.split('.'), value),
  })
}

for (const { route, names } of named) {
  test(`${nameOf(route)} refuses a name that no person could read, and takes one of any script`, async () => {
    const vendor = await makeVendor(harness)
    const sample = await sampleOf(route, harness, vendor)
    for (const path of names) {
      const before = await dump(query)
      for (const [value, message] of bad) {
        const { status, body } = await send(route, path, value, sample)
        const at = `${path} ${JSON.stringify(value)}`
        assert.deepEqual(
          [at, status, body.code, body.errors],
          [at, 400, 'validation_failed', [{ path, message }]],
        )
      }
      assert.deepEqual(await dump(query), before)
      for (const value of good) {
        const fresh = await sampleOf(route, harness, await makeVendor(harness))
        const { status, body } = await send(route, path, value, fresh)
        assert.equal(status, route.answer.status, `${value}: ${JSON.stringify(body)}`)
      }
    }
  })
}

test('names older than the rule are read, listed, rotated, and stay when other fields change', async () => {
  const vendor = await makeVendor(harness)
  const { live: token, workspaceId, projectId, tenantId } = vendor
  const key = await issueKey(harness, vendor)
  const secretKey = (await ask('POST', '/v1/secret_keys', { token, body: { env: 'live', name: 'x' } })).body
  const person = await makePerson(query)
  await addMember(query, workspaceId, person.userId, 'owner')
  const old = '\u202e\u200b'
  for (const [table, id] of [
    ['workspaces', workspaceId],
    ['projects', projectId],
    ['tenants', tenantId],
    ['api_keys', key.id],
    ['secret_keys', secretKey.id],
    ['users', person.userId],
  ])
    await query(`update ${table} set name = $2 where id = $1`, [id, old])
  await query('update workspaces set embed_logo_text = $2 where id = $1', [workspaceId, old])

  const asked = async (method: string, url: string, body?: object, caller = token) => {
    const heard = await ask(method, url, { token: caller, ...(body !== undefined && { body }) })
    assert.ok(heard.status < 300, `${method} ${url}: ${JSON.stringify(heard.body)}`)
    return heard.body
  }
  const lists = ['projects', 'tenants', 'keys', 'secret_keys', 'members']
  for (const noun of lists) {
    const { data } = await asked('GET', `/v1/${noun}`)
    assert.ok(
      data.some(({ name }: { name: string }) => name === old),
      noun,
    )
  }
  assert.equal((await asked('GET', `/v1/keys?name=${encodeURIComponent(old)}`)).data.length, 1)
  for (const [url, body] of [
    [`/v1/projects/${projectId}`, { slug: 'another-slug' }],
    [`/v1/tenants/${tenantId}`, { meta: { a: 1 } }],
    [`/v1/keys/${key.id}`, { meta: { a: 1 } }],
    ['/v1/workspace', { embed_theme: { radius: 3 } }],
  ] as const) {
    assert.equal((await asked('GET', url)).name, old, url)
    const changed = await asked('PATCH', url, body)
    assert.equal(changed.name, old, url)
    if (url === '/v1/workspace') assert.equal(changed.embed_theme.logo_text, old)
  }
  assert.equal((await asked('POST', `/v1/keys/${key.id}/rotate`)).name, old)
  assert.equal((await asked('POST', `/v1/secret_keys/${secretKey.id}/rotate`)).name, old)
  const me = await asked('GET', '/v1/auth/me', undefined, person.token)
  assert.deepEqual([me.name, me.workspaces[0].name], [old, old])
  await asked('GET', '/v1/overview')
  await asked('GET', '/v1/audit_logs')
  await asked('GET', `/v1/policy/snapshot?project_id=${projectId}&features=labels`)
})
