import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
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

test('where the database is missing, only migrate and restore make one; others refuse', async () => {
  const installation = new Installation()
  after(() => installation.remove())
  const file = join(installation.place.temp, 'file')
  const id = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
  for (const command of [
    ['backup', file],
    ['encryption', 'rotate'],
    ['person', 'erase', 'ann@acme.example', '--yes'],
    ['policy', 'raise'],
    ['secret-keys', 'create', '--workspace', id, '--env', 'live', '--role', 'owner'],
    ['signing-key', 'rotate'],
    ['workspace', 'delete', id, '--yes'],
  ]) {
    const { code, out, err } = await installation.start(command).ended
    assert.deepEqual([code, out], [1, ''], err)
    assert.equal(
      err,
      `Error: ${installation.dataDir} has no database. Run this with the settings of the service: its SERVICE_DATA_DIR, or its DATABASE_URL.\n`,
      command.join(' '),
    )
    assert.ok(!existsSync(installation.dataDir), command.join(' '))
  }
  assert.ok(!existsSync(file))
})
