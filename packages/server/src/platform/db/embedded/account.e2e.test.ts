import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cleanUp, FAST_PLACE, isRoot, startService } from '../../../../test/embedded-service.ts'
import { findAccount, spawnIdentity } from './account.ts'

const UNKNOWN_UID = 2_000_000_000

test('the account is never root, and exists in the system', () => {
  const { name, uid, gid } = findAccount()
  assert.notEqual(uid, 0)
  assert.equal(execFileSync('id', ['-u', name], { encoding: 'utf8' }), `${uid}\n`)
  assert.equal(execFileSync('id', ['-g', name], { encoding: 'utf8' }), `${gid}\n`)
})

if (isRoot) {
  test('root runs Postgres as the account that owns the database, without extra groups', () => {
    const nobody = Number(execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' }))
    const account = findAccount(nobody)
    assert.deepEqual([account.uid, account.name, account.switched], [nobody, 'nobody', true])
    const { stdout } = spawnSync('id', ['-G'], { encoding: 'utf8', cwd: '/', ...spawnIdentity(account) })
    assert.equal(stdout, `${account.gid}\n`)
  })

  test('a database of root or of a removed account is refused with the command that helps', () => {
    assert.throws(() => findAccount(0), /belong to root.*chown -R keyrail/)
    assert.throws(() => findAccount(UNKNOWN_UID), /user id 2000000000, which has no entry in \/etc\/passwd/)
  })

  test('an account without an entry in the user database is refused, because Postgres needs one', async () => {
    const temp = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
    chmodSync(temp, 0o755)
    const place = { temp, dataDir: join(temp, 'data'), stateDirectory: join(temp, 'state') }
    const person = { name: 'a container user', uid: UNKNOWN_UID, gid: UNKNOWN_UID, switched: true }
    const { message } = await startService(person, place).refusal
    assert.match(message, /User id 2000000000 has no entry in \/etc\/passwd, and Postgres needs one/)
    cleanUp(place)
  })
} else {
  test('another account’s database is refused with both names', () => {
    assert.throws(() => findAccount(0), new RegExp(`belongs to user id 0; this is ${userInfo().username}`))
  })
}
