import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ask, Installation, looksLikeStack, type Serving } from './test-keyrail.ts'

describe('keyrail workspace delete', () => {
  let installation: Installation
  let service: Serving
  before(async () => {
    // As long as a look-up may be kept, so that a test finds one.
    installation = new Installation({ SERVICE_HOT_AUTH_CACHE_MS: '60000' })
    service = await installation.serve()
  })
  after(() => installation.remove())

  const create = async (slug: string) => {
    const body = { name: 'Acme', slug }
    const made = await ask(`${service.url}/v1/workspaces`, { token: installation.token, body })
    return { status: made?.status, id: made?.body.id as string, token: made?.body.secret_key?.key as string }
  }
  const remove = (...flags: string[]) => installation.start(['workspace', 'delete', ...flags]).ended

  test('without a terminal it wants --yes, and does nothing otherwise', async () => {
    const { id, token } = await create('asked-first')
    const { code, out, err } = await remove(id)
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /removes the workspace "asked-first" .* for good\. Give --yes/)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token }))?.status, 200)
  })

  test('beside a running service it ends the credentials and frees the slug', async () => {
    const { id, token } = await create('acme')
    const { token: other } = await create('bystander')
    const { code, out } = await remove(id, '--yes', '--json')
    assert.equal(code, 0)
    const report = JSON.parse(out)
    assert.deepEqual([report.id, report.slug], [id, 'acme'])
    assert.equal(report.removed.workspaces, 1)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token }))?.status, 401)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token: other }))?.status, 200)
    assert.equal((await ask(`${service.url}/v1/audit_logs/chain`, { token: other }))?.body.valid, true)
    assert.equal((await create('acme')).status, 201)
  })

  test('at a terminal the slug has to be typed', async () => {
    const { id, token } = await create('typed')
    // script(1) gives the command a terminal of its own; what we send down the pipe is typed there.
    const shell = `stty cols 100 rows 40; "${process.execPath}" bin/keyrail.mjs workspace delete ${id}`
    const typed = (keys: string) => {
      const feed = `( sleep 1; while ! grep -q 'to confirm' "$0"; do sleep 0.2; done; ${keys} ) | script -qefc '${shell}' "$0"`
      return installation.run('/bin/sh', ['-c', feed, `${installation.place.temp}/typescript`]).ended
    }
    const refused = await typed(`printf 'wrong\\r'; sleep 1; printf '\\003'`)
    assert.match(refused.out, /The slug is typed\./)
    assert.notEqual(refused.code, 0)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token }))?.status, 200)
    const done = await typed(`printf 'typed\\r'; sleep 1`)
    assert.equal(done.code, 0, done.out)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token }))?.status, 401)
  })

  test('given again after it was broken off, it removes what is left, and says that there is no such workspace after', async () => {
    const { id, token } = await create('broken-off')
    const claim = { scope_hash: '0'.repeat(64), env: 'live', fingerprint: '0'.repeat(64) }
    await ask(`${service.url}/v1/idempotency/claim`, { token, body: claim })
    assert.equal((await remove(id, '--yes')).code, 0)
    // The process goes on for some seconds with what it has looked up: a row as a broken command leaves it.
    const late = await ask(`${service.url}/v1/idempotency/claim`, { token, body: claim })
    assert.equal(late?.status, 200)
    const { code, out } = await remove(id, '--json')
    assert.deepEqual([code, JSON.parse(out).removed.idempotency_claims], [0, 1])
    assert.match((await remove(id)).err, /There is no workspace/)
  })

  test('an unknown or malformed id is a clear error', async () => {
    for (const [id, message] of [
      ['acme', /"acme" is no id of a workspace/],
      ['01890000-0000-7000-8000-000000000000', /There is no workspace 01890000/],
    ] as const) {
      const { code, err } = await remove(id, '--yes')
      assert.equal(code, 1)
      assert.match(err, message)
      assert.ok(!looksLikeStack(err), err)
    }
  })
})
