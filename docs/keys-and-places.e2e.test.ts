import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { permissions, presets } from '../packages/contract/src/vendor/permissions.ts'
import { startKeyrail } from '../packages/sdk/test/service.ts'
import { routes } from '../packages/server/src/routes.ts'
import { mintToken } from '../packages/server/test/embed.ts'
import { bootstrapToken } from '../packages/server/test/harness.ts'
import { codeBlocks, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/keys-and-places.md')
const { service, vendor, connection } = await startKeyrail()
const codes = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

const places = tableOf(section(page, 'The places')).map(
  ([place = '', credential = '', needs = '', calls = '']) => ({
    place,
    credential,
    routes: codes(calls),
    limits: needs.startsWith('preset')
      ? { preset: codes(needs)[0] }
      : codes(needs).length > 0
        ? { permissions: codes(needs) }
        : {},
  }),
)

for (const { place, credential, limits, routes } of places.filter(({ credential }) =>
  credential.startsWith('secret key'),
)) {
  test(`"${place}": the key works, and cannot create a wider key`, async () => {
    const env = credential.includes('test') ? 'test' : 'live'
    const body = { env, ...limits }
    const made = await service.ask('POST', '/v1/secret_keys', { token: vendor.live, body })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    const { key } = made.body
    assert.ok(routes.length > 0)
    for (const route of routes) {
      const [method = '', path = ''] = route.split(' ')
      // An allowed call then gets 400 or 404, and changes nothing.
      const { status, body } = await service.ask(method, path.replace(':id', randomUUID()), {
        token: key,
        ...(method !== 'GET' && { body: '{' }),
      })
      assert.ok(status !== 401 && status !== 403, `${route} answered ${status} ${body.code}`)
    }
    const more = await service.ask('POST', '/v1/secret_keys', { token: key, body: { env } })
    if (Object.keys(limits).length === 0) assert.equal(more.status, 201)
    else assert.deepEqual([more.status, more.body.code], [403, 'insufficient_permission'])
  })
}

test('the other places have the credential that their routes accept', async () => {
  const token = await mintToken(service, vendor)
  assert.equal((await service.ask('GET', '/v1/embed/session', { token })).status, 200)
  const workspace = await service.ask('POST', '/v1/workspaces', { token: bootstrapToken, body: '{' })
  assert.equal(workspace.body.code, 'malformed_json')
  const shown = places.flatMap(({ routes }) => routes)
  for (const route of ['GET /v1/embed/session', 'POST /v1/workspaces']) assert.ok(shown.includes(route))
  const known = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  for (const route of shown) assert.ok(known.has(route), route)
})

test('the presets match the contract, each at one place', () => {
  for (const [preset, stands] of Object.entries(presets)) {
    assert.ok(
      places.some(({ limits }) => 'preset' in limits && limits.preset === preset),
      preset,
    )
    for (const permission of stands) assert.ok(section(page, 'The places').includes(`\`${permission}\``))
  }
})

test('the table of routes matches the service', () => {
  const rows = tableOf(section(page, 'Every route')).map(row => row.map(cell => cell.replaceAll('`', '')))
  const expected = permissions.flatMap(permission =>
    routes.flatMap(({ method, path, access }) => {
      if (access.open || access.permission !== permission) return []
      const bound = access.withinProjects ? 'its projects' : 'no'
      return [
        [permission, `${method} ${path}`, access.unlimitedOnly ? 'no, nor with any other limit' : bound],
      ]
    }),
  )
  assert.deepEqual(rows, expected)
})

test('the command that creates a key works as written', async () => {
  const [command] = codeBlocks(section(page, 'Making one'))
  const { stdout } = await promisify(execFile)('bash', ['-ec', command?.text ?? ''], {
    env: {
      PATH: process.env.PATH,
      KEYRAIL: connection.url,
      KEY: vendor.live,
      PROJECT: vendor.projectId,
    },
  })
  const { permissions, project_ids, allowed_cidrs, key } = JSON.parse(stdout)
  assert.deepEqual(
    [permissions, project_ids, allowed_cidrs],
    [presets.node, [vendor.projectId], ['127.0.0.0/8', '2001:db8::/32']],
  )
  const { status } = await service.ask('GET', `/v1/policy/snapshot?project_id=${vendor.projectId}`, {
    token: key,
  })
  assert.equal(status, 200)
})
