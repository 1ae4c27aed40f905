import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { isRoot } from '../../../test/embedded-service.ts'
import { Installation, looksLikeStack } from '../../../test/installation.ts'

/** The service uses no file that others control: anyone who can plant a file there could let themselves in. */
describe('a data directory that is not ours alone', () => {
  let installation: Installation
  before(() => {
    installation = new Installation()
  })
  after(() => installation.remove())

  async function isRefused(reason: RegExp, env: Record<string, string> = {}) {
    const served = await installation.start(['serve'], env).ended
    assert.equal(served.code, 1)
    assert.match(served.err, reason)
    assert.ok(!looksLikeStack(served.out + served.err), served.err)
    const examined = await installation.start(['doctor', '--json'], env).ended
    assert.equal(examined.code, 1, 'the doctor finds it too')
    assert.match(examined.out, /"name": "(data directory|bootstrap token|database)",\s+"status": "fault"/)
  }

  test('a symbolic link is refused, and its target is not changed', async () => {
    const target = join(installation.place.temp, 'target')
    const link = join(installation.place.temp, 'link')
    mkdirSync(target, { mode: 0o755 })
    symlinkSync(target, link)
    await isRefused(/symbolic link.*Set SERVICE_DATA_DIR to the directory itself/, { SERVICE_DATA_DIR: link })
    assert.deepEqual(readdirSync(target), [])
  })

  test('a directory that others can write in is refused with the command that closes it', async () => {
    mkdirSync(installation.dataDir)
    for (const mode of [0o775, 0o777, 0o1777]) {
      chmodSync(installation.dataDir, mode)
      await isRefused(/Others may write to .*chmod go-w/)
    }
    chmodSync(installation.dataDir, 0o755)
  })

  if (isRoot) {
    test('another user’s directory is refused with both user ids', async () => {
      chownSync(installation.dataDir, 65_534, 65_534)
      await isRefused(/belongs to user id 65534, and Keyrail runs as user id 0/)
      chownSync(installation.dataDir, 0, 0)
    })
  }

  test('a planted link in place of a secret is not followed', async () => {
    assert.equal((await installation.start(['migrate']).ended).code, 0)
    const planted = join(installation.place.temp, 'planted')
    writeFileSync(planted, `${'known-to-somebody-else'.repeat(2)}\n`, { mode: 0o600 })
    const path = join(installation.dataDir, 'bootstrap-token')
    symlinkSync(planted, path)
    await isRefused(/bootstrap-token is a symbolic link, which is not followed/)
    assert.deepEqual(installation.postgresPids(), [])
    rmSync(path)

    const password = join(installation.dataDir, 'postgres-service-password')
    const kept = readFileSync(password)
    rmSync(password)
    symlinkSync(planted, password)
    await isRefused(/postgres-service-password is a symbolic link/)
    rmSync(password)
    writeFileSync(password, kept, { mode: 0o600 })

    const service = await installation.serve()
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })
})
