import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createKeyring } from '@keyrail/sdk'
import { ask, Installation, type Running, root } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'
import { findPlace } from '../../platform/db/embedded/directory.ts'
import { layoutOf, listClusters } from '../../platform/db/embedded/layout.ts'
import { isAlive, processesIn } from '../../platform/db/embedded/processes.ts'

const installation = new Installation()
after(() => installation.remove())

/** A separate folder for temporary files, so that the test sees what is left in it. */
function temporary(): string {
  return mkdtempSync(join(installation.place.temp, 'tmp-'))
}

/** The value that the command has printed for copying. */
const printed = ({ output }: Running, name: string): string | undefined =>
  new RegExp(`^${name}=(\\S+)`, 'm').exec(output.out)?.[1]

async function untilPrinted(running: Running): Promise<void> {
  let isOver = false
  running.ended.then(() => {
    isOver = true
  })
  await until(() => isOver || /^curl .*\n/m.test(running.output.out))
  if (isOver) assert.fail(JSON.stringify(await running.ended))
}

/**
 * The database directory of the one service in a folder. For root it is elsewhere if its account cannot enter
 * the folder.
 */
function databaseBelow(folder: string): string {
  const [name = ''] = readdirSync(folder).filter(each => each.startsWith('keyrail-dev-'))
  return findPlace(join(folder, name, 'data'))?.base ?? assert.fail(`${folder} has no database`)
}

function postgresIn(base: string): ReturnType<typeof processesIn> {
  const { dataDirectory } = layoutOf(base, listClusters(base).at(-1) ?? 0)
  return processesIn(realpathSync(dataDirectory))
}

test('what it prints works: the keys of three tenants, and the curl command', async () => {
  const running = installation.start(['dev'], { TMPDIR: temporary() })
  await untilPrinted(running)
  const value = (name: string) => printed(running, name) ?? assert.fail(name)
  const keyring = createKeyring({
    url: value('KEYRAIL_URL'),
    secretKey: value('KEYRAIL_SECRET_KEY'),
    project: value('KEYRAIL_PROJECT'),
  })
  await keyring.ready()
  const verdicts = ['GLOBEX_KEY', 'INITECH_KEY', 'HOOLI_KEY'].map(name => keyring.verify(value(name)))
  assert.deepEqual(
    verdicts.map(verdict => verdict.valid && verdict.scopes.join()),
    ['orders:read,orders:write', 'orders:read', ''],
  )
  assert.equal(new Set(verdicts.map(verdict => verdict.valid && verdict.tenantId)).size, 3)
  await keyring.close()

  const command = /^curl .*$/m.exec(running.output.out)?.[0] ?? assert.fail('no curl')
  const created = JSON.parse(execFileSync('sh', ['-c', command], { encoding: 'utf8' }))
  assert.match(created.key, /^acme_live_/)
  const refused = await ask(`${value('KEYRAIL_URL')}/v1/keys`, { token: value('KEYRAIL_SECRET_KEY') })
  assert.equal(refused?.body.code, 'insufficient_permission')
  running.child.kill('SIGTERM')
  assert.equal((await running.ended).code, 0)
})

test('Ctrl-C ends it, and neither Postgres nor a file remains', async () => {
  for (const [file, args, mode] of [
    [process.execPath, [join(root, 'bin/keyrail.mjs'), 'dev'], 0o755],
    ['npm', ['run', '--silent', 'dev:service'], 0o700],
  ] as const) {
    const folder = temporary()
    chmodSync(folder, mode)
    const running = installation.run(file, [...args], { TMPDIR: folder })
    await untilPrinted(running)
    const database = databaseBelow(folder)
    const postgres = postgresIn(database)
    assert.ok(postgres.length > 0)
    // A terminal signals the whole group.
    process.kill(-(running.child.pid ?? Number.NaN), 'SIGINT')
    const { code } = await running.ended
    assert.equal(code, 0)
    assert.deepEqual(postgres.filter(isAlive), [])
    assert.ok(!existsSync(database))
    assert.deepEqual(
      readdirSync(folder).filter(name => name.startsWith('keyrail-dev-')),
      [],
    )
  }
})

test('a start that fails or is interrupted leaves nothing either', async () => {
  const folder = temporary()
  const left = () => readdirSync(folder).filter(name => name.startsWith('keyrail-dev-'))
  const wrong = await installation.start(['dev', '--port', 'x'], { TMPDIR: folder }).ended
  assert.equal(wrong.code, 1)
  assert.match(wrong.err, /SERVICE_PORT must be a whole number/)
  assert.deepEqual(left(), [])

  const running = installation.start(['dev'], { TMPDIR: folder })
  await until(() => left().length > 0)
  process.kill(-(running.child.pid ?? Number.NaN), 'SIGINT')
  await running.ended
  assert.deepEqual(left(), [])
})

test('no setting of the environment reaches it', async () => {
  const env = { TMPDIR: temporary(), DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', SERVICE_PORT: 'x' }
  const running = installation.start(['dev'], env)
  await untilPrinted(running)
  running.child.kill('SIGINT')
  assert.equal((await running.ended).code, 0)
})
