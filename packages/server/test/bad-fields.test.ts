import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { type Edge, edgesOf } from './edges.ts'
import { startHarness } from './harness.ts'
import { madePassword } from './people.ts'
import { nameOf, sampleOf } from './samples.ts'
import { type Field, readField, specRows } from './spec-rows.ts'
import { makeVendor, type Vendor } from './vendor.ts'

/**
 * Sends every field of every body at each of its bounds, one below and one above. A value within the bounds is
 * accepted and returned. A value outside is refused with the field's path, and nothing is written.
 */
// The shortest minimum length that the setting allows.
const harness = await startHarness({ passwordMinLength: 8 })
const { ask, query } = harness

const projectRules: Record<string, Field> = {
  known_scopes: {
    schema: {
      type: 'array',
      maxItems: 200,
      'x-unique': true,
      items: { type: 'string', minLength: 1, maxLength: 200 },
    },
    required: false,
  },
  strict_scopes: { schema: { type: 'boolean' }, required: false },
  max_key_lifetime_days: {
    schema: { type: ['integer', 'null'], minimum: 1, maximum: 3_650 },
    required: false,
  },
  lifetime: { schema: { type: 'string', enum: ['report', 'refuse'] }, required: false },
  delete_protection: { schema: { type: 'boolean' }, required: false },
}
/** Fields that are not in the specification. */
const beyond: Record<string, Record<string, Field>> = {
  'POST /v1/projects': {
    key_prefix: { schema: { type: 'string', pattern: '^[a-z][a-z0-9]{1,15}$' }, required: false },
    ...projectRules,
  },
  'PATCH /v1/projects/:id': { slug: readField('Slug'), ...projectRules },
}

/** Values within their bounds that the service refuses for another reason, such as a wrong password. */
const wrongOnes: Record<string, [status: number, code: string]> = {
  'signIn.password': [401, 'invalid_credentials'],
  'changePassword.current_password': [403, 'invalid_credentials'],
  'verifyAddress.token': [400, 'invalid_token'],
  'resetPassword.token': [400, 'invalid_token'],
  'acceptInvite.token': [400, 'invalid_token'],
  'createEmbedToken.origins': [400, 'validation_failed'],
  'createEmbedKey.scopes': [403, 'insufficient_scope'],
}

/** What a field needs before the service accepts a value. */
const needs: Record<string, (value: unknown) => Promise<unknown>> = {
  'signIn.email': email => ask('POST', '/v1/auth/users', { body: { email, password: madePassword } }),
}

const bodies = specRows.flatMap(row => {
  const route = routes.find(({ method, path }) => method === row.method && path === row.path)
  const fields = { ...row.body, ...beyond[`${row.method} ${row.path}`] }
  return route === undefined || Object.keys(fields).length === 0 ? [] : [{ route, fields }]
})

for (const { route, fields } of bodies) {
  test(`${nameOf(route)} accepts every field up to its bounds, and writes nothing beyond`, async () => {
    // Slugs and external ids at the bounds are few, so each route has its own workspace.
    const vendor = await makeVendor(harness)
    const { url, token, body } = await sampleOf(route, harness, vendor)
    const before = await dump(query)
    for (const [name, { schema, required }] of Object.entries(fields)) {
      if (required) {
        const { [name]: _, ...rest } = body ?? {}
        const { status, body: problem } = await ask(route.method, url, {
          ...(token && { token }),
          body: rest,
        })
        const [{ path, message }] = problem.errors
        assert.deepEqual([status, problem.errors.length, path], [400, 1, name])
        assert.match(message, /^is required(?:, or external_id)?$/)
      }
      for (const edge of edgesOf(schema)) {
        if (!edge.ok)
          await assertRefused(route, { url, token }, { ...body, [name]: edge.value }, name + edge.at)
      }
    }
    assert.deepEqual(await dump(query), before)

    for (const [name, { schema }] of Object.entries(fields)) {
      for (const edge of edgesOf(schema)) if (edge.ok) await assertTaken(route, vendor, name, edge)
    }
  })
}

test('rate limits with the same id are refused with the specification’s message', async () => {
  const { live } = await makeVendor(harness)
  const rule = { id: 'burst', limit: 1, window_ms: 1_000, algorithm: 'fixed', scope: 'key' }
  const { body } = await ask('POST', '/v1/projects', {
    token: live,
    body: { name: 'n', slug: 'unique-ids', default_rate_limits: [rule, { ...rule, limit: 2 }] },
  })
  const message = 'rate limit ids must be unique'
  assert.deepEqual(body.errors, [{ path: 'default_rate_limits', message }])
  assert.equal(body.detail, `default_rate_limits: ${message}`)
})

async function assertRefused(
  { method }: Route,
  { url, token }: { url: string; token: string | undefined },
  body: unknown,
  named: string,
): Promise<void> {
  // A name that is so long could be a secret, and is not repeated.
  const path = named
    .split('.')
    .map(step => (step.length > 40 ? '…' : step))
    .join('.')
  const heard = await ask(method, url, { ...(token && { token }), body })
  const said = `${path} of ${JSON.stringify(body).slice(0, 300)}: ${JSON.stringify(heard.body)}`
  assert.deepEqual(
    [heard.status, heard.body.code, heard.body.errors?.length],
    [400, 'validation_failed', 1],
    said,
  )
  assert.equal(heard.body.errors[0].path, path, said)
  assert.equal(heard.body.detail, `${path}: ${heard.body.errors[0].message}`)
}

/** A value at its bound is accepted, and returned if the response has the field. */
async function assertTaken(route: Route, vendor: Vendor, name: string, { value }: Edge): Promise<void> {
  const { url, token, body } = await sampleOf(route, harness, vendor)
  const place = `${route.operation}.${name}`
  await needs[place]?.(value)
  const heard = await ask(route.method, url, { ...(token && { token }), body: { ...body, [name]: value } })
  const said = `${name}: ${JSON.stringify(value).slice(0, 300)} answered ${JSON.stringify(heard.body).slice(0, 500)}`
  const wrong = wrongOnes[place]
  const isEmptyList = Array.isArray(value) && value.length === 0
  if (wrong !== undefined && !isEmptyList)
    return assert.deepEqual([heard.status, heard.body.code], wrong, said)
  assert.equal(heard.status, route.answer.status, said)
  // A response of the hot plane is a verdict; its fields mean something else than the request's.
  if (route.plane === 'hot' || !(name in heard.body)) return
  const shown = name === 'expires_at' && value !== null ? new Date(value as string).toISOString() : value
  assert.deepEqual(heard.body[name], shown, said)
}
