import assert from 'node:assert/strict'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ask, Installation, looksLikeStack } from '../../../test/installation.ts'
import { mayMount, mountSmallDisk, type SmallDisk } from '../../../test/small-disk.ts'
import { readConfig } from '../../config.ts'
import { listClusters } from '../../platform/db/embedded/layout.ts'
import { lockDirectory } from '../../platform/db/embedded/lock.ts'
import { replaceOwnFile } from '../../platform/files/own-files.ts'
import { openTransport } from '../../platform/mail/mail.ts'
import { ensureKeys } from '../encryption-key.ts'
import { ensureBootstrapToken } from './bootstrap-token.ts'

test('CI fills disks, for which it is root', () => {
  assert.ok(mayMount || !process.env.CI)
})

test('a command whose result finds no room says so, and fails', async () => {
  const installation = new Installation()
  after(() => installation.remove())
  const full = openSync('/dev/full', 'w')
  const words = [process.execPath, 'bin/keyrail.mjs', 'roles']
  const { code, err } = await installation.run('sh', ['-c', '"$@" > /dev/full', 'sh', ...words]).ended
  closeSync(full)
  assert.equal(code, 1)
  assert.match(err, /^Error: Standard output could not be written \(ENOSPC\)/)
  assert.ok(!looksLikeStack(err), err)
})

/** Mounting takes root. */
if (mayMount)
  describe('on a full disk', () => {
    const disks: SmallDisk[] = []
    after(() => {
      for (const disk of disks) disk.unmount()
    })
    const fullDisk = (sizeMb: number): SmallDisk => {
      const disk = mountSmallDisk(sizeMb)
      disks.push(disk)
      return disk
    }
    const all = (folder: string) => readdirSync(folder, { recursive: true }).map(String)

    test('a mail stays queued, nothing half written is in the folder, and later it is written', async () => {
      const disk = fullDisk(1)
      const path = join(disk.directory, 'mail')
      mkdirSync(path, { mode: 0o700 })
      const folder = await openTransport({ kind: 'folder', path })
      const letter = { to: 'ann@example.com', subject: 'Hello', paragraphs: ['x'.repeat(9_000)] }
      const from = { name: 'Keyrail', address: 'no-reply@example.com' }
      const send = () =>
        folder.send(
          letter,
          'reset',
          { from, at: new Date(), id: 'a'.repeat(32) },
          new AbortController().signal,
        )
      disk.fill()
      await assert.rejects(send(), { name: 'NotSent', code: 'ENOSPC', isFinal: false })
      assert.deepEqual(all(path), [])
      disk.clear()
      await send()
      assert.equal(all(path).length, 1)
    })

    test('no token, key or lock is made, what was there stays, and the reason names the file', async () => {
      const disk = fullDisk(1)
      const { directory } = disk
      const { config } = readConfig({ SERVICE_DATA_DIR: directory })
      const old = join(directory, 'old')
      writeFileSync(old, 'old')
      disk.fill()
      const reason = (name: string) => ({
        message: new RegExp(`^${join(directory, name)}\\S* cannot be written: its disk is full\\.`),
      })
      assert.throws(() => ensureBootstrapToken(directory), reason('bootstrap-token'))
      assert.throws(() => ensureKeys(config), reason('encryption-key'))
      assert.throws(() => replaceOwnFile(old, 'new'), reason('old'))
      await assert.rejects(lockDirectory(directory), reason('.lock-draft'))
      assert.deepEqual(all(directory), ['old'])
      assert.equal(readFileSync(old, 'utf8'), 'old')
      disk.clear()
      assert.equal(ensureBootstrapToken(directory).isNew, true)
      assert.equal(ensureKeys(config).isNew, true)
      replaceOwnFile(old, 'new')
      const lock = await lockDirectory(directory)
      lock.release()
    })

    test('a first start without room leaves no half-made database, and works with more', async () => {
      const disk = fullDisk(24)
      const installation = new Installation({ SERVICE_DASHBOARD: 'off' })
      after(() => installation.remove())
      const env = { SERVICE_DATA_DIR: join(disk.directory, 'keyrail') }
      const { code, err } = await installation.start(['serve'], env).ended
      assert.equal(code, 1)
      assert.match(err, /No space left on device|its disk is full/)
      assert.ok(!looksLikeStack(err), err)
      assert.deepEqual(listClusters(env.SERVICE_DATA_DIR), [])
      assert.deepEqual(
        all(env.SERVICE_DATA_DIR).filter(path => /creating-|\.new$|draft/.test(path)),
        [],
      )
      disk.grow(240)
      const serving = await installation.serve(env)
      assert.equal((await ask(`${serving.url}/readyz`))?.status, 200)

      disk.fill()
      const backup = join(disk.directory, 'copy')
      const failed = await installation.start(['backup', backup], env).ended
      assert.equal(failed.code, 1)
      assert.ok(!looksLikeStack(failed.err), failed.err)
      assert.ok(!all(disk.directory).some(path => path.startsWith('copy')))
      assert.equal((await ask(`${serving.url}/healthz`))?.status, 200)
      disk.clear()
      serving.child.kill('SIGTERM')
      assert.equal((await serving.ended).code, 0)
    })
  })
