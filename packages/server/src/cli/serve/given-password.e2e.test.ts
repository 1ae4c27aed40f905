import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { examine } from '../../../test/examine.ts'
import { Installation, urlOf } from '../../../test/installation.ts'
import { type ScratchCluster, startScratchCluster } from '../../../test/scratch.ts'

describe('a DATABASE_URL without a password', () => {
  let cluster: ScratchCluster
  let installation: Installation
  let password: string
  before(async () => {
    cluster = await startScratchCluster()
    password = String(cluster.connection.password)
    const url = new URL(urlOf(cluster.connection).replace('///', '//localhost/'))
    url.searchParams.delete('password')
    const DATABASE_URL = url.href.replace('//localhost/', '///')
    installation = new Installation({ SERVICE_DASHBOARD: 'off', DATABASE_URL })
  })
  after(async () => {
    await installation.remove()
    await cluster.remove()
  })

  test('without any password the server refuses the user, and the message names it', async () => {
    const { code, err } = await installation.start(['migrate']).ended
    assert.equal(code, 1)
    assert.match(err, /^Error: The database .* has no password for the user ".+"/m)
    assert.match(err, /PGPASSWORD/)
  })

  test('PGPASSWORD serves, and a wrong one is refused with the user', async () => {
    const serving = await installation.serve({ PGPASSWORD: password })
    serving.child.kill('SIGTERM')
    const { code, out } = await serving.ended
    assert.equal(code, 0)
    assert.doesNotMatch(out, /has no password/)
    assert.ok(!out.includes(password))
    const wrong = await installation.start(['migrate'], { PGPASSWORD: 'guessed' }).ended
    assert.equal(wrong.code, 1)
    assert.match(wrong.err, /refuses the user ".+": password authentication failed/)
    assert.doesNotMatch(wrong.err, /guessed/)
  })

  test('PGPASSFILE names a file with the password', async () => {
    const file = join(installation.place.temp, 'pgpass')
    writeFileSync(file, `*:*:*:*:${password}\n`, { mode: 0o600 })
    const { found } = await examine(installation, { PGPASSFILE: file })
    assert.equal(found('database')?.status, 'ok', JSON.stringify(found('database')))
  })
})
