import assert from 'node:assert/strict'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { FAST_PLACE } from '../../../../test/embedded-service.ts'
import type { Account } from './account.ts'
import { canReach, choosePlace, findPlace, makeDirectory } from './directory.ts'

const SELF: Account = {
  name: 'self',
  uid: process.geteuid?.() ?? 0,
  gid: process.getegid?.() ?? 0,
  switched: false,
}
/** Root's view: Postgres runs under an account that owns nothing here. */
const OTHER: Account = { name: 'other', uid: 2_000_000_000, gid: 2_000_000_000, switched: true }

let temp: string
let count = 0
let home: string
let state: string
before(() => {
  temp = realpathSync(mkdtempSync(join(FAST_PLACE, 'keyrail-test-')))
  chmodSync(temp, 0o755)
})
beforeEach(() => {
  count += 1
  home = join(temp, `home-${count}`)
  state = join(temp, `state-${count}`)
  mkdirSync(home, { mode: 0o700 })
})
after(() => rmSync(temp, { recursive: true, force: true }))

function makeCluster(base: string): string {
  mkdirSync(join(base, 'postgres', '18'), { recursive: true })
  return base
}

test('an ordinary user’s database is in the wanted directory, closed to others', () => {
  const wanted = join(home, 'data')
  assert.deepEqual(choosePlace(wanted, SELF, state), { base: wanted, moved: false })
  assert.equal(statSync(wanted).mode & 0o777, 0o700)
})

test('so is root’s if the account can reach it, whatever the umask', () => {
  chmodSync(home, 0o711)
  const wanted = join(home, 'checkout', 'data')
  const umask = process.umask(0o077)
  assert.deepEqual(choosePlace(wanted, OTHER, state), { base: wanted, moved: false })
  process.umask(umask)
  assert.equal(canReach(wanted, OTHER), true)
})

test('below a closed folder it goes to a place named by the path, the same at every start', () => {
  const wanted = join(home, 'data')
  const { base, moved } = choosePlace(wanted, OTHER, state)
  assert.equal(moved, true)
  assert.match(base, new RegExp(`^${state}/[0-9a-f]{16}$`))
  makeCluster(base)
  assert.deepEqual(choosePlace(wanted, OTHER, state), { base, moved: true })
  assert.deepEqual(findPlace(wanted, state), { base, moved: true })
})

test('two checkouts side by side get two places', () => {
  const first = choosePlace(join(home, 'a', 'data'), OTHER, state)
  const second = choosePlace(join(home, 'b', 'data'), OTHER, state)
  assert.notEqual(first.base, second.base)
})

test('a symbolic link above the data directory is followed, one in its place is refused', () => {
  const wanted = join(home, 'there', 'data')
  const { base } = choosePlace(wanted, SELF, state)
  symlinkSync(join(home, 'there'), join(home, 'link'))
  assert.equal(choosePlace(join(home, 'link', 'data'), SELF, state).base, base)
  symlinkSync(wanted, join(home, 'data-link'))
  assert.throws(() => choosePlace(join(home, 'data-link'), SELF, state), { name: 'UnsafePath' })
})

test('a moved checkout keeps its database, and a new one in the old path does not get it', () => {
  const { base } = choosePlace(join(home, 'old', 'data'), OTHER, state)
  makeCluster(base)
  renameSync(join(home, 'old'), join(home, 'new'))
  assert.equal(choosePlace(join(home, 'new', 'data'), OTHER, state).base, base)
  assert.equal(choosePlace(join(home, 'new', 'data'), OTHER, state).base, base)
  const fresh = choosePlace(join(home, 'old', 'data'), OTHER, state)
  assert.notEqual(fresh.base, base)
  makeCluster(fresh.base)
  assert.equal(choosePlace(join(home, 'old', 'data'), OTHER, state).base, fresh.base)
  assert.equal(choosePlace(join(home, 'new', 'data'), OTHER, state).base, base)
})

test('a copied checkout gets a separate database', () => {
  const { base } = choosePlace(join(home, 'original', 'data'), OTHER, state)
  makeCluster(base)
  cpSync(join(home, 'original'), join(home, 'copy'), { recursive: true })
  assert.notEqual(choosePlace(join(home, 'copy', 'data'), OTHER, state).base, base)
  assert.equal(choosePlace(join(home, 'original', 'data'), OTHER, state).base, base)
})

test('an emptied data directory finds its database again', () => {
  const { base } = choosePlace(join(home, 'data'), OTHER, state)
  makeCluster(base)
  rmSync(join(home, 'data'), { recursive: true })
  assert.equal(choosePlace(join(home, 'data'), OTHER, state).base, base)
})

test('a database stays where it is if its folder is opened later', () => {
  const { base } = choosePlace(join(home, 'data'), OTHER, state)
  makeCluster(base)
  chmodSync(home, 0o755)
  assert.equal(choosePlace(join(home, 'data'), OTHER, state).base, base)
})

test('a database that the account cannot reach any more is refused, not replaced', () => {
  chmodSync(home, 0o755)
  const wanted = join(home, 'data')
  makeCluster(choosePlace(wanted, OTHER, state).base)
  chmodSync(home, 0o700)
  assert.throws(
    () => choosePlace(wanted, OTHER, state),
    /a folder on the way was closed. Open it again with chmod o\+x/,
  )
})

test('reachability depends on the mode bits of every folder on the way', () => {
  const deep = join(home, 'a', 'b')
  makeDirectory(deep, OTHER)
  const { uid, gid } = statSync(home)
  const reach = (account: Account, mode: number, path = home) => {
    chmodSync(home, mode)
    return canReach(path, account)
  }
  assert.equal(reach({ ...OTHER, uid }, 0o077), false)
  assert.equal(reach({ ...OTHER, uid }, 0o700), true)
  assert.equal(reach({ ...OTHER, gid }, 0o710), true)
  assert.equal(reach({ ...OTHER, gid }, 0o701), false)
  assert.equal(reach(OTHER, 0o711, deep), true)
  assert.equal(reach(OTHER, 0o710, deep), false)
})

test('a place where no directory can be made is refused with the setting to change', () => {
  const file = join(home, 'file')
  writeFileSync(file, '')
  assert.throws(() => choosePlace(join(file, 'data'), SELF, state), {
    name: 'EmbeddedRefused',
    message: /^The directory .*file\/data cannot be used: ENOTDIR.* SERVICE_DATA_DIR\.$/,
  })
})

test('a place in which nothing can be made is refused at once', () => {
  assert.throws(() => makeDirectory('/proc/keyrail/data', SELF), /cannot be used: .*SERVICE_DATA_DIR/)
})
