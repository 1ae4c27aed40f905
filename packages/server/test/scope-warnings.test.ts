import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopesMatchExactly } from '@keyrail/contract/scopes'
import { scopeFieldsOf } from '../src/gate/scope-warnings.ts'
import { routes } from '../src/routes.ts'
import { startHarness } from './harness.ts'
import { nameOf, sampleOf } from './samples.ts'
import { makeVendor } from './vendor.ts'

const harness = await startHarness()
const { app, ask } = harness
const { body: document } = await ask('GET', '/v1/openapi.json')
const warned = routes.filter(route => scopeFieldsOf(route).length > 0)

test('every route of a vendor that takes scopes warns', () => {
  assert.deepEqual(warned.map(({ operation }) => operation).toSorted(), [
    'createEmbedToken',
    'createKey',
    'createProject',
    'updateKey',
    'updateProject',
  ])
})

for (const route of warned) {
  test(`${nameOf(route)} takes a scope with a space or a *, and says that scopes match exactly`, async () => {
    const send = async (scopes: readonly string[]) => {
      const { url, token, body } = await sampleOf(route, harness, await makeVendor(harness))
      const [field = ''] = scopeFieldsOf(route)
      const prefix = route.operation === 'createEmbedToken' ? 'key_scope:' : ''
      const values = scopes.map(scope => prefix + scope)
      const answer = await app.inject({
        method: route.method,
        url,
        headers: { authorization: `Bearer ${token}` },
        payload: { ...body, [field]: values },
      })
      assert.equal(answer.statusCode, route.answer.status, answer.body)
      assert.deepEqual(JSON.parse(answer.body)[field], values)
      return { warning: answer.headers['keyrail-warning'], field }
    }
    const { warning, field } = await send(['charges:read', 'orders:*', 'refunds', 'a b', 'c\u3000d'])
    assert.equal(warning, `${field}.1, ${field}.3, ${field}.4: ${scopesMatchExactly}`)
    assert.equal((await send(['charges:read'])).warning, undefined)
    assert.equal((await send([])).warning, undefined)
    const path = document.paths[route.path.replace(/:(\w+)/g, '{$1}')]
    const { headers } = path[route.method.toLowerCase()].responses[route.answer.status]
    assert.deepEqual(Object.keys(headers), ['Keyrail-Warning'])
  })
}

test('a refused request and a repeated one: no warning and the same warning', async () => {
  const { live, projectId, tenantId } = await makeVendor(harness)
  const send = (more: object) =>
    app.inject({
      method: 'POST',
      url: '/v1/keys',
      headers: { authorization: `Bearer ${live}`, 'idempotency-key': 'once' },
      payload: { project_id: projectId, tenant_id: tenantId, env: 'live', scopes: ['orders:*'], ...more },
    })
  assert.equal((await send({ tenant_id: projectId })).headers['keyrail-warning'], undefined)
  const [first, again] = [await send({}), await send({})]
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal(first.headers['keyrail-warning'], `scopes.0: ${scopesMatchExactly}`)
  assert.equal(again.headers['keyrail-warning'], first.headers['keyrail-warning'])
})
