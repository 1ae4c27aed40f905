import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startCommand } from '../../../test/command.ts'
import { comparable, contentsOf, freshDatabase, untilUsesAreRecorded } from '../../../test/dump-contents.ts'
import { startHarness } from '../../../test/harness.ts'
import { issueKey, makeVendor } from '../../../test/vendor.ts'

test('a restored database has the contents of the one that was backed up', async () => {
  const source = await startHarness()
  await issueKey(source, await makeVendor(source))
  await untilUsesAreRecorded(source.connection)
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-cli-'))
  // Postgres may run as another account, which must be able to enter the folder.
  chmodSync(folder, 0o755)
  after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'all.keyrail')
  const target = await freshDatabase(true)

  const made = await startCommand(['backup', file], { where: source.connection }).ended
  assert.equal(made.code, 0, made.messages)
  const done = await startCommand(['restore', file], { where: target }).ended
  assert.equal(done.code, 0, done.messages)
  assert.deepEqual(await contentsOf(target, comparable), await contentsOf(source.connection, comparable))
})
