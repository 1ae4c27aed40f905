import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { holding, machine } from '../../test/disk-machine.ts'

test('a named pipe in place of the file is refused at once, and the cache closes', async () => {
  const { open, write, path } = machine()
  await write(holding())
  rmSync(path)
  execFileSync('mkfifo', ['-m', '600', path])
  const { cache, notices } = open()
  assert.equal(await cache.load(), undefined)
  assert.deepEqual(notices, ['disk_file_refused'])
  await cache.close(holding(5))
  assert.equal((await open().cache.load())?.store.size, 5)
})
