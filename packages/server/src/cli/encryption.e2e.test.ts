import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { makeDatabase, type TestDatabase, testCluster } from '../../test/database.ts'
import { contentsOf } from '../../test/dump-contents.ts'
import { encryptionKey } from '../../test/encryption-key.ts'
import { ask, Installation, looksLikeStack, root, urlOf } from '../../test/installation.ts'
import { readEncryptionKeys } from '../platform/crypto/encryption-keys.ts'

const makeKey = () => randomBytes(32).toString('base64')
const idOf = (key: string) => readEncryptionKeys(key).keys[0]?.id ?? ''

describe('the encryption key of an embedded database', () => {
  let installation: Installation
  let file: string
  before(() => {
    installation = new Installation()
    file = join(installation.dataDir, 'encryption-key')
  })
  after(() => installation.remove())
  const serve = async <T>(work: (url: string) => Promise<T>): Promise<T> => {
    const { url, child, ended } = await installation.serve()
    try {
      return await work(url)
    } finally {
      child.kill('SIGTERM')
      await ended
    }
  }
  const kids = (url: string) => ask(`${url}/.well-known/jwks.json`).then(heard => heard?.body.keys)
  const rotate = (...flags: string[]) => installation.start(['encryption', 'rotate', ...flags]).ended
  const refused = async (reason: RegExp) => {
    const { code, out, err } = await installation.start(['serve']).ended
    assert.equal(code, 1)
    assert.match(err, reason)
    assert.ok(!looksLikeStack(out + err), out + err)
    return err
  }
  let published: unknown

  test('the first start makes the key for its owner only, and later starts keep it', async () => {
    published = await serve(kids)
    const made = readFileSync(file, 'utf8')
    assert.equal(readEncryptionKeys(made).keys.length, 1)
    assert.equal(lstatSync(file).mode & 0o777, 0o600)
    assert.deepEqual(await serve(kids), published)
    assert.equal(readFileSync(file, 'utf8'), made)
  })

  test('a missing or different key is named, and no new one is made', async () => {
    const made = readFileSync(file, 'utf8')
    renameSync(file, `${file}.away`)
    const missing = await refused(
      /encryption-key is missing\. Secrets in the database are sealed with the key /,
    )
    assert.ok(missing.includes(idOf(made)) && missing.includes('keyrail encryption rotate --discard'))
    assert.throws(() => lstatSync(file))

    const other = makeKey()
    writeFileSync(file, other, { mode: 0o600 })
    const wrong = await refused(/Secrets in the database are sealed with the encryption key /)
    assert.ok(wrong.includes(idOf(made)) && wrong.includes(idOf(other)))
    assert.ok(!wrong.includes(other))

    writeFileSync(file, 'not a key\n')
    await refused(/must contain the encryption key: key 1 of 3 must be 32 bytes/)
    rmSync(file)
    symlinkSync(`${file}.away`, file)
    await refused(/encryption-key is a symbolic link, which is not followed/)
    rmSync(file)
    renameSync(`${file}.away`, file)
    assert.deepEqual(await serve(kids), published)
  })

  test('the doctor reports the key, and a file that others can read', async () => {
    const examine = async () => {
      const { out } = await installation.start(['doctor', '--json']).ended
      const { checks } = JSON.parse(out) as { checks: { name: string; status: string; message: string }[] }
      return (name: string) => checks.find(check => check.name === name)
    }
    const healthy = await examine()
    assert.equal(healthy('encryption key')?.status, 'ok')
    assert.match(healthy('sealed secrets')?.message ?? '', /^all \d are sealed with the first key$/)
    chmodSync(file, 0o644)
    const open = await examine()
    assert.deepEqual(open('data directory')?.message, `${file} can be read by other accounts`)
    chmodSync(file, 0o600)
    const made = readFileSync(file, 'utf8')
    writeFileSync(file, `${makeKey()}\n${made}`)
    const older = await examine()
    assert.match(
      older('sealed secrets')?.message ?? '',
      new RegExp(`are sealed with ${idOf(made)}, an older key$`),
    )
    writeFileSync(file, makeKey())
    assert.equal((await examine())('sealed secrets')?.status, 'fault')
    writeFileSync(file, made)
  })

  test('after adding a new key and a rotation, the old key is no longer needed', async () => {
    const old = readFileSync(file, 'utf8').trim()
    const next = makeKey()
    writeFileSync(file, `${next}\n${old}\n`)
    await serve(async url => {
      assert.deepEqual(await kids(url), published)
      const { code, out, err } = await rotate()
      assert.equal(code, 0, err)
      assert.match(out, new RegExp(`^Resealed [2-9] secrets\\. All are sealed with key ${idOf(next)}\\.`))
      assert.match(out, new RegExp(`${idOf(old)} seals nothing any more: remove it from .*encryption-key`))
      assert.deepEqual(await kids(url), published)
    })
    const again = JSON.parse((await rotate('--json')).out)
    assert.deepEqual(again, {
      sealed_by: idOf(next),
      resealed: 0,
      unused: [idOf(old)],
      discarded: [],
    })
    writeFileSync(file, next)
    assert.deepEqual(await serve(kids), published)
  })

  test('secrets of a lost key are removed on request, named, and made again', async () => {
    rmSync(file)
    const kept = await rotate()
    assert.deepEqual([kept.code, kept.out], [1, ''])
    const { code, out, err } = await rotate('--discard')
    assert.equal(code, 0, err)
    assert.match(err, /Removed service_secrets cursor, which no given key opens\./)
    assert.match(err, /Restart every process/)
    assert.match(out, /^Resealed 0 secrets/)
    assert.notDeepEqual(await serve(kids), published)
  })
})

describe('the encryption key of an outside database', () => {
  let database: TestDatabase
  let installation: Installation
  before(async () => {
    database = await makeDatabase(testCluster(), true)
    installation = new Installation({ DATABASE_URL: urlOf(database.connection) })
  })
  after(async () => {
    await installation.remove()
    await database.drop()
  })

  test('without a key serve changes nothing, and prints the commands that make one', async () => {
    const { code, err } = await installation.start(['serve'], { SERVICE_ENCRYPTION_KEY: '' }).ended
    assert.equal(code, 1)
    assert.match(err, /SERVICE_ENCRYPTION_KEY is not set, and DATABASE_URL is/)
    assert.deepEqual(await contentsOf(database.connection), { keyrail_migrations: [] })
    const [make, use] = [/^ {2}(openssl rand .*)$/m.exec(err)?.[1], /^ {2}(export .*)$/m.exec(err)?.[1]]
    assert.ok(make && use)
    const keyrail = `"${process.execPath}" "${join(root, 'bin/keyrail.mjs')}"`
    const script = `cd "$HOME" && ${make} && ${use} && ${keyrail} migrate && ${keyrail} signing-key rotate`
    const first = await installation.run('bash', ['-ec', script], { SERVICE_ENCRYPTION_KEY: '' }).ended
    assert.equal(first.code, 0, first.err)
    const made = readFileSync(join(installation.place.temp, 'encryption-key'), 'utf8')
    const { code: wrong, err: message } = await installation.start(['serve']).ended
    assert.equal(wrong, 1)
    assert.ok(message.includes(idOf(made)) && message.includes(idOf(encryptionKey)), message)
  })

  test('without one the doctor reports a fault, and says what to do', async () => {
    const { code, out } = await installation.start(['doctor'], { SERVICE_ENCRYPTION_KEY: '' }).ended
    assert.equal(code, 1)
    assert.match(out, /^fault +encryption key +SERVICE_ENCRYPTION_KEY is not set/m)
    assert.match(out, /openssl rand -base64 32/)
  })

  test('a bad key stops the start with the reason, and is not quoted', async () => {
    const bad = 'pass-phrase-pass-phrase'
    const { code, err } = await installation.start(['serve'], { SERVICE_ENCRYPTION_KEY: bad }).ended
    assert.equal(code, 1)
    assert.match(err, /SERVICE_ENCRYPTION_KEY: the key must be 32 bytes in base64 or hexadecimal/)
    assert.ok(!err.includes(bad))
  })
})
