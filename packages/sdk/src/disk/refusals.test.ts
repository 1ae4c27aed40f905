import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { holding, machine } from '../../test/disk-machine.ts'
import { id } from '../../test/keys.ts'

test('a path that is not a directory, or that others can write to, is not used', async () => {
  const spoil: [string, (cacheDir: string) => void][] = [
    ['group-writable', cacheDir => chmodSync(cacheDir, 0o770)],
    ['world-writable', cacheDir => chmodSync(cacheDir, 0o707)],
    [
      'a symbolic link',
      cacheDir => {
        renameSync(cacheDir, `${cacheDir}-real`)
        symlinkSync(`${cacheDir}-real`, cacheDir)
      },
    ],
    [
      'a file',
      cacheDir => {
        rmSync(cacheDir, { recursive: true })
        writeFileSync(cacheDir, '')
      },
    ],
  ]
  for (const [what, change] of spoil) {
    const { open, write, cacheDir } = machine()
    await write(holding())
    change(cacheDir)
    const { cache, notices } = open()
    assert.equal(await cache.load(), undefined, what)
    assert.deepEqual(notices, ['disk_unusable'], what)
    const before = readdirSync(dirname(cacheDir))
    cache.keep(holding(9))
    await cache.close(holding(9))
    assert.deepEqual(readdirSync(dirname(cacheDir)), before)
  }
})

test('a symbolic link is not followed, in any spelling of its path', async () => {
  const { open, write, cacheDir } = machine()
  await write(holding())
  symlinkSync(cacheDir, `${cacheDir}-link`)
  for (const end of ['', '/', '//', '/.', '/./', '/x/..']) {
    const { cache, notices } = open({ cacheDir: `${cacheDir}-link${end}` })
    assert.equal(await cache.load(), undefined, end)
    await cache.close(holding(9))
    assert.deepEqual(notices, ['disk_unusable'], end)
  }
  assert.equal((await open({ cacheDir: `${cacheDir}/` }).cache.load())?.store.size, 3)
})

test('a file that others could have written is refused and replaced', async () => {
  const spoil: [string, (path: string) => void][] = [
    ['world-writable', path => chmodSync(path, 0o666)],
    [
      'a symbolic link',
      path => {
        renameSync(path, `${path}.real`)
        symlinkSync(`${path}.real`, path)
      },
    ],
    ['damaged', path => writeFileSync(path, readFileSync(path).subarray(1))],
    ['empty', path => writeFileSync(path, '')],
  ]
  for (const [what, change] of spoil) {
    const { open, write, path } = machine()
    await write(holding())
    change(path)
    const { cache, notices } = open()
    assert.equal(await cache.load(), undefined, what)
    assert.deepEqual(notices, ['disk_file_refused'], what)
    await cache.close(holding(5))
    assert.equal((await open().cache.load())?.store.size, 5)
  }
  const { open, path } = machine()
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const { cache, notices } = open()
  assert.equal(await cache.load(), undefined)
  assert.deepEqual(notices, ['disk_file_refused'], 'a directory')
})

test('a file written for other tenants is reported as a scope mismatch', async () => {
  const { open, write } = machine()
  await write(holding())
  const { cache, notices } = open({ tenantIds: [id(0xa000)] })
  assert.equal(await cache.load(), undefined)
  assert.deepEqual(notices, ['disk_scope_mismatch'])
})
