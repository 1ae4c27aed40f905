import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { errors } from '@keyrail/contract/errors'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { Route } from '../src/gate/route.ts'
import { refusalsOf } from '../src/reference.ts'
import { routes } from '../src/routes.ts'
import { startHarness } from './harness.ts'
import { nameOf } from './samples.ts'

const { app, ask } = await startHarness()
const { body: document } = await ask('GET', '/v1/openapi.json')

const operationOf = ({ method, path }: Route) =>
  document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  const { valid, errors: faults } = await validator.validate(structuredClone(document))
  assert.ok(valid, JSON.stringify(faults))
  assert.equal(validator.version, '3.1')
})

test('the document lists exactly the routes', () => {
  const listed = Object.entries<Record<string, unknown>>(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map(method => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
  )
  assert.deepEqual(listed.toSorted(), routes.map(nameOf).toSorted())
})

test('every operation has a unique id', () => {
  const ids = routes.map(route => operationOf(route).operationId)
  assert.equal(new Set(ids).size, routes.length)
  assert.deepEqual(
    ids,
    routes.map(route => route.operation),
  )
})

for (const route of routes) {
  test(`${nameOf(route)} documents its credentials, fields and responses`, () => {
    const operation = operationOf(route)
    assert.deepEqual(operation.security.flatMap(Object.keys), kindsOf(route))
    for (const kind of kindsOf(route)) assert.ok(document.components.securitySchemes[kind], kind)
    assert.equal(operation.summary, route.summary)
    assert.match(route.summary, /^[A-Z][^.,;:]{3,34}$/, 'the title is a verb and a noun')
    assert.match(route.description, /^$|\.$/)
    assert.ok(operation.description.startsWith(route.description))
    for (const tag of operation.tags)
      assert.ok(document.tags.some(({ name }: { name: string }) => name === tag))

    const codes = refusalsOf(route)
    const statuses = new Set([route.answer.status, ...codes.map(code => errors[code][0])].map(String))
    if (route.conditional) statuses.add('304')
    assert.deepEqual(Object.keys(operation.responses).toSorted(), [...statuses].toSorted())
    const type = route.answer.type ?? 'application/json'
    const { content: answers } = operation.responses[route.answer.status]
    assert.deepEqual(Object.keys(answers), [type, ...(route.answer.lines ? ['application/x-ndjson'] : [])])
    for (const answer of Object.values<{ schema?: object }>(answers)) assert.ok(answer.schema)
    const documented = Object.values<Response>(operation.responses).flatMap(
      ({ content = {} }) => content['application/problem+json']?.schema.properties.code.enum ?? [],
    )
    assert.deepEqual(documented.toSorted(), codes.toSorted())

    const fields = propertiesOf(route.query)
    assert.deepEqual(namesIn('query', operation), Object.keys(fields))
    assert.deepEqual(
      namesIn('path', operation),
      [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name),
    )
    const signing = route.signed === null ? [] : Object.values(route.signed.headers)
    assert.deepEqual(namesIn('header', operation), [
      ...(route.replayable ? ['Idempotency-Key'] : []),
      ...(route.access.open ? [] : ['Keyrail-Workspace']),
      ...signing,
    ])
    const body = operation.requestBody
    assert.equal(body !== undefined, route.body !== null || route.signed !== null)
    if (body === undefined) return
    if (route.signed !== null) {
      assert.deepEqual([body.required, body.content['application/json'].schema.type], [true, 'array'])
      return
    }
    assert.deepEqual(
      Object.keys(body.content['application/json'].schema.properties ?? {}),
      Object.keys(propertiesOf(route.body)),
    )
    assert.equal(body.required, (route.body as { required?: string[] }).required !== undefined)
  })
}

test('a wrong password is 401 at sign-in, and 403 with a valid session', () => {
  const statusesOf = (operation: string) => {
    const route = routes.find(route => route.operation === operation)
    assert.ok(route)
    return Object.entries<Response>(operationOf(route).responses)
      .filter(([, { content = {} }]) =>
        content['application/problem+json']?.schema.properties.code.enum.includes('invalid_credentials'),
      )
      .map(([status]) => status)
  }
  assert.deepEqual([statusesOf('signIn'), statusesOf('changePassword')], [['401'], ['403']])
})

test('an unknown path below the reference page gets the usual 404', async () => {
  for (const url of ['/docs/xyz', '/docs/%00', '/docs/js/']) {
    const { statusCode, headers, body } = await app.inject({ url })
    assert.deepEqual(
      [statusCode, headers['content-type']?.split(';')[0], JSON.parse(body).code],
      [404, 'application/problem+json', 'route_not_found'],
      url,
    )
  }
})

test('the reference page loads nothing from other hosts and runs only its own script', async () => {
  assert.equal((await app.inject({ url: '/docs' })).headers.location, '/docs/')
  const page = await app.inject({ url: '/docs/' })
  assert.equal(page.statusCode, 200)
  assert.match(String(page.headers['content-type']), /^text\/html/)
  assert.doesNotMatch(page.body, /(?:https?:)?\/\/[a-z0-9]/i, 'the page names another host')

  const policy = policyOf(page.headers['content-security-policy'])
  assert.deepEqual(policy['default-src'], ["'none'"])
  const inline = [...page.body.matchAll(/<script(?![^>]*src=)[^>]*>([\s\S]*?)<\/script>/g)]
  assert.equal(inline.length, 1)
  const digests = inline.map(([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`)
  assert.deepEqual(policy['script-src'], ["'self'", ...digests])
  for (const [directive, sources] of Object.entries(policy)) {
    for (const source of sources) assert.match(source, /^(?:'.*'|data:|blob:)$/, directive)
  }
  for (const directive of [
    'connect-src',
    'style-src',
    'img-src',
    'font-src',
    'base-uri',
    'frame-ancestors',
  ]) {
    assert.ok(policy[directive], directive)
  }
})

test('the service serves every script of the reference page, under the same policy', async () => {
  const page = await app.inject({ url: '/docs/' })
  const scripts = [...page.body.matchAll(/<script[^>]*src="([^"]+)"/g)].map(([, src = '']) => src)
  assert.ok(scripts.length > 0)
  for (const src of scripts) {
    const script = await app.inject({ url: new URL(src, 'http://here/docs/').pathname })
    assert.equal(script.statusCode, 200, src)
    assert.match(String(script.headers['content-type']), /javascript/)
    assert.equal(script.headers['x-content-type-options'], 'nosniff')
    assert.deepEqual(policyOf(script.headers['content-security-policy'])['script-src'], ["'self'"])
  }
})

interface Response {
  content: Record<string, { schema: { properties: { code: { enum: string[] } } } } | undefined>
}

const kindsOf = ({ access }: Route): string[] => (access.open ? [] : [...access.credentials])

const propertiesOf = (schema: object | null): object =>
  (schema as { properties?: object } | null)?.properties ?? {}

const namesIn = (place: string, { parameters = [] }: { parameters?: { in: string; name: string }[] }) =>
  parameters.filter(parameter => parameter.in === place).map(({ name }) => name)

const policyOf = (header: unknown): Record<string, string[]> =>
  Object.fromEntries(
    String(header)
      .split('; ')
      .map(directive => directive.split(' '))
      .map(([name = '', ...sources]) => [name, sources]),
  )
