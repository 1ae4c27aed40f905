import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { migrations } from '../platform/db/migrate.ts'
import { ask, Installation } from './test-keyrail.ts'

describe('keyrail migrate', () => {
  const installation = new Installation()
  after(() => installation.remove())

  test('brings a database that is not there yet to the newest schema, and says what it applied', async () => {
    const { code, out } = await installation.start(['migrate', '--json']).ended
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out), { applied: migrations, newest: migrations.at(-1) })
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('repeated, beside a running service, it changes nothing', async () => {
    const service = await installation.serve()
    const { code, out } = await installation.start(['migrate']).ended
    assert.equal(code, 0)
    assert.equal(out, 'The schema is the newest already.\n')
    assert.equal((await ask(`${service.url}/readyz`))?.status, 200)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  test('two at once on a database that nobody runs leave the schema whole, and one more run finds nothing to do', async () => {
    const fresh = new Installation()
    const ends = await Promise.all([
      fresh.start(['migrate', '--json']).ended,
      fresh.start(['migrate', '--json']).ended,
    ])
    // The one that started the embedded Postgres stops it when it is done, perhaps under the other.
    assert.ok(
      ends.some(({ code }) => code === 0),
      ends.map(({ err }) => err).join(),
    )
    const { code, out, err } = await fresh.start(['migrate', '--json']).ended
    assert.equal(code, 0, err)
    assert.deepEqual(JSON.parse(out), { applied: [], newest: migrations.at(-1) })
    await fresh.remove()
  })
})
