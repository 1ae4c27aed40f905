import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Installation, root } from '../../test/installation.ts'
import { until } from '../../test/until.ts'

/** A command that only opens its database, prints the kind, and then runs a piece of code. */
const holder = (then: string) => `
  import { readConfig } from ${JSON.stringify(join(root, 'packages/server/src/config.ts'))}
  import { openDatabase } from ${JSON.stringify(join(root, 'packages/server/src/cli/database.ts'))}
  const database = await openDatabase(readConfig(process.env).config)
  process.stdout.write(database.kind + '\\n')
  ${then}`

describe('the database of a command', () => {
  let installation: Installation
  before(async () => {
    installation = new Installation()
    assert.equal((await installation.start(['migrate']).ended).code, 0)
  })
  after(() => installation.remove())

  const hold = (then: string) =>
    installation.run(process.execPath, ['--input-type=module', '--eval', holder(then)])
  const waitForever = 'setInterval(() => {}, 60_000)'

  test('a database started for a command stops when the command is done', async () => {
    const { code, out, err } = await hold('await database.close()').ended
    assert.deepEqual([code, out], [0, 'started\n'], err)
    assert.deepEqual(installation.postgresPids(), [])
  })

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    test(`a command interrupted by ${signal} stops the Postgres that it started`, async () => {
      const { child, output, ended } = hold(waitForever)
      await until(() => output.out === 'started\n')
      child.kill(signal)
      assert.equal((await ended).code, 130)
      assert.deepEqual(installation.postgresPids(), [])
    })
  }

  test('so does a command that exits without closing', async () => {
    assert.equal((await hold('process.exit(3)').ended).code, 3)
    await until(() => installation.postgresPids().length === 0)
  })

  test('a second command uses the database that the first one started', async () => {
    const { child, output, ended } = hold(waitForever)
    await until(() => output.out === 'started\n')
    assert.equal((await hold('await database.close()').ended).out, 'running\n')
    assert.ok(installation.postgresPids().length > 0, 'and does not stop it')
    child.kill('SIGTERM')
    await ended
  })
})
