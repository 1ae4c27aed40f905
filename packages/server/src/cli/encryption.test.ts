import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { makeDatabase, type TestDatabase, testCluster } from '../../test/database.ts'
import { encryptionKey } from '../../test/encryption-key.ts'
import { readEncryptionKeys } from '../platform/crypto/encryption-keys.ts'
import { contentsOf } from '../platform/db/dump/test-contents.ts'
import { ask, Installation, looksLikeStack, root, urlOf } from './test-keyrail.ts'

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

  test('the first start makes it, for its owner alone, and later ones leave it', async () => {
    published = await serve(kids)
    const made = readFileSync(file, 'utf8')
    assert.equal(readEncryptionKeys(made).keys.length, 1)
    assert.equal(lstatSync(file).mode & 0o777, 0o600)
    assert.deepEqual(await serve(kids), published)
    assert.equal(readFileSync(file, 'utf8'), made)
  })

  test('a key that is missing or another one is told by name, and nothing new is made', async () => {
    const made = readFileSync(file, 'utf8')
    renameSync(file, `${file}.away`)
    const missing = await refused(
      /encryption-key is missing\. Secrets in the database are sealed by the key /,
    )
    assert.ok(missing.includes(idOf(made)) && missing.includes('keyrail encryption rotate --discard'))
    assert.throws(() => lstatSync(file))

    const other = makeKey()
    writeFileSync(file, other, { mode: 0o600 })
    const wrong = await refused(/Secrets in the database are sealed by the encryption key /)
    assert.ok(wrong.includes(idOf(made)) && wrong.includes(idOf(other)))
    assert.ok(!wrong.includes(other))

    writeFileSync(file, 'not a key\n')
    await refused(/must hold the encryption key: key 1 of 3 must be 32 bytes/)
    rmSync(file)
    symlinkSync(`${file}.away`, file)
    await refused(/encryption-key is a symbolic link, which is not followed/)
    rmSync(file)
    renameSync(`${file}.away`, file)
    assert.deepEqual(await serve(kids), published)
  })

  test('the doctor tells of the key, and of a file that others can read', async () => {
    const examine = async () => {
      const { out } = await installation.start(['doctor', '--json']).ended
      const { checks } = JSON.parse(out) as { checks: { name: string; status: string; message: string }[] }
      return (name: string) => checks.find(check => check.name === name)
    }
    const healthy = await examine()
    assert.equal(healthy('encryption key')?.status, 'ok')
    assert.match(healthy('sealed secrets')?.message ?? '', /^all \d are sealed by the first key$/)
    chmodSync(file, 0o644)
    const open = await examine()
    assert.deepEqual(open('data directory')?.message, `${file} can be read by other accounts`)
    chmodSync(file, 0o600)
    const made = readFileSync(file, 'utf8')
    writeFileSync(file, `${makeKey()}\n${made}`)
    const older = await examine()
    assert.match(
      older('sealed secrets')?.message ?? '',
      new RegExp(`are sealed by ${idOf(made)}, an older key$`),
    )
    writeFileSync(file, makeKey())
    assert.equal((await examine())('sealed secrets')?.status, 'fault')
    writeFileSync(file, made)
  })

  test('a new key above the old one, and a rotation: then the old one opens nothing and is not needed', async () => {
    const old = readFileSync(file, 'utf8').trim()
    const next = makeKey()
    writeFileSync(file, `${next}\n${old}\n`)
    await serve(async url => {
      assert.deepEqual(await kids(url), published)
      const { code, out, err } = await rotate()
      assert.equal(code, 0, err)
      assert.match(out, new RegExp(`^Sealed [2-9] secrets anew\\. All are sealed by key ${idOf(next)}\\.`))
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

  test('a key that is lost for good: what it has sealed is removed when asked for, named, and made anew', async () => {
    rmSync(file)
    const kept = await rotate()
    assert.deepEqual([kept.code, kept.out], [1, ''])
    const { code, out, err } = await rotate('--discard')
    assert.equal(code, 0, err)
    assert.match(err, /Removed service_secrets cursor, which no given key opens\./)
    assert.match(err, /Restart every process/)
    assert.match(out, /^Sealed 0 secrets anew/)
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

  test('without one serve refuses before it changes anything, with the commands that make one', async () => {
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
    const { code: wrong, err: told } = await installation.start(['serve']).ended
    assert.equal(wrong, 1)
    assert.ok(told.includes(idOf(made)) && told.includes(idOf(encryptionKey)), told)
  })

  test('without one the doctor reports a fault, and says what to do', async () => {
    const { code, out } = await installation.start(['doctor'], { SERVICE_ENCRYPTION_KEY: '' }).ended
    assert.equal(code, 1)
    assert.match(out, /^fault +encryption key +SERVICE_ENCRYPTION_KEY is not set/m)
    assert.match(out, /openssl rand -base64 32/)
  })

  test('a bad one stops the start with the reason, and is not quoted', async () => {
    const bad = 'pass-phrase-pass-phrase'
    const { code, err } = await installation.start(['serve'], { SERVICE_ENCRYPTION_KEY: bad }).ended
    assert.equal(code, 1)
    assert.match(err, /SERVICE_ENCRYPTION_KEY: the key must be 32 bytes in base64 or hexadecimal/)
    assert.ok(!err.includes(bad))
  })
})
