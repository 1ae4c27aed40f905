import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isMainThread } from 'node:worker_threads'
import { Refusal } from '../refusal.ts'
import { type HashCaller, openPasswords, waitingMax } from './password.ts'

/** A caller that has proved nothing. */
const from = (ip: string): HashCaller => ({ ip, standing: 'stranger' })
const caller = from('192.0.2.1')
const logged: unknown[][] = []
let hashed = 0
const open = (threads?: number) =>
  openPasswords({
    randomBytes,
    log: { error: (...line: unknown[]) => void logged.push(line), warn() {} },
    metrics: {
      passwordHashed() {
        hashed += 1
      },
    },
    ...(threads !== undefined && { threads }),
  })
const passwords = open()
after(() => passwords.close())

test('a hash is argon2id with 19 MiB, two passes, one lane and a random salt', async () => {
  const form = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/
  const [a, b] = await Promise.all([
    passwords.hash('correct horse', caller),
    passwords.hash('correct horse', caller),
  ])
  assert.match(a, form)
  assert.match(b, form)
  assert.notEqual(a, b)
})

test('only the right password verifies', async () => {
  const phc = await passwords.hash('correct horse', caller)
  assert.equal(await passwords.verify(phc, 'correct horse', caller), true)
  for (const other of ['correct horsf', 'Correct horse', 'correct horse ', '', 'c'])
    assert.equal(await passwords.verify(phc, other, caller), false, other)
})

test('a password is used as given: nothing is normalised, trimmed or cut, not even at a NUL', async () => {
  const composed = 'caf\u00e9 '.repeat(3)
  for (const [given, other] of [
    ['before\0after', 'before'],
    [composed, composed.normalize('NFD')],
    [' spaces ', 'spaces'],
    ['\u{1f511}'.repeat(256), '\u{1f511}'.repeat(255)],
    [`${'x'.repeat(1023)}y`, `${'x'.repeat(1023)}z`],
  ] as const) {
    const phc = await passwords.hash(given, caller)
    assert.equal(await passwords.verify(phc, given, caller), true)
    assert.equal(await passwords.verify(phc, other, caller), false)
  }
})

test('a missing account also costs one call of the hasher, and no password matches it', async () => {
  const phc = await passwords.hash('x', caller)
  for (const stored of [phc, null]) {
    const before = hashed
    assert.equal(await passwords.verify(stored, 'y', caller), false)
    assert.equal(hashed - before, 1)
  }
  assert.equal(await passwords.verify(null, 'x', caller), false)
  assert.equal(await passwords.verify(null, '', caller), false)
})

test('a stored value that is not a hash never verifies, is logged once and is not quoted', async () => {
  logged.length = 0
  for (const stored of [
    '',
    'plain text',
    '$argon2id$v=19$m=19456,t=2,p=1$bogus',
    '$2b$10$abcdefghijklmnopqrstuv',
  ])
    assert.equal(await passwords.verify(stored, 'a secret word', caller), false)
  assert.equal(logged.length, 1)
  assert.doesNotMatch(JSON.stringify(logged), /secret word|plain text|bogus/)
})

test('callers wait while there is room, the next one gets 429, and later there is room again', async () => {
  const one = open(1)
  const phc = await one.hash('x', caller)
  const calls = Array.from({ length: 1 + waitingMax }, () => one.verify(phc, 'x', caller))
  assert.equal(one.waiting(), waitingMax)
  const before = hashed
  await assert.rejects(one.verify(phc, 'x', caller), error => {
    assert.ok(error instanceof Refusal)
    assert.deepEqual([error.code, error.headers['retry-after']], ['too_many_in_flight', '1'])
    return true
  })
  assert.ok((await Promise.all(calls)).every(isRight => isRight))
  assert.equal(hashed - before, waitingMax + 1, 'a refused call costs nothing')
  assert.equal(one.waiting(), 0)
  assert.equal(await one.verify(phc, 'x', caller), true)
  await one.close()
})

test('a flood from one network delays others by one turn, and cannot fill their queue', async () => {
  const one = open(1)
  const phc = await one.hash('x', caller)
  const ended: string[] = []
  const verify = (ip: string) => one.verify(phc, 'x', from(ip)).then(() => ended.push(ip))
  const flood = Array.from({ length: 1 + waitingMax }, () => verify('192.0.2.1'))
  const settled = Promise.allSettled(flood)
  await verify('192.0.2.2')
  const refused = (await settled).filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 1, 'its newest makes room')
  assert.ok(ended.indexOf('192.0.2.2') <= 2, `after ${ended.indexOf('192.0.2.2')}`)
  await one.close()
})

test('the networks of one site do not keep out other sites, nor known devices', async () => {
  const one = open(1)
  const phc = await one.hash('x', caller)
  const ended: string[] = []
  const verify = (who: HashCaller) =>
    one.verify(phc, 'x', who).then(() => ended.push(`${who.standing} ${who.ip}`))
  const flood = Array.from({ length: 400 }, (_, i) => verify(from(`2001:db8:1:${i.toString(16)}::1`)))
  const settled = Promise.allSettled(flood)
  await Promise.all([
    verify(from('2001:db8:2::1')),
    verify({ ip: '2001:db8:1::1', standing: 'known' }),
    verify({ ip: '2001:db8:1::1', standing: 'signed in' }),
  ])
  assert.ok(ended.length <= 6, `${ended.length} ended before the last of them`)
  const refused = (await settled).filter(({ status }) => status === 'rejected').length
  assert.equal(refused, 400 - waitingMax)
  await one.close()
})

test('hashing threads have a lower priority than the thread that serves requests', async () => {
  assert.ok(isMainThread)
  const niceness = () =>
    readdirSync('/proc/self/task').map(id => Number(statFields(`/proc/self/task/${id}/stat`)[16]))
  const phc = await passwords.hash('x', caller)
  await Promise.all([passwords.verify(phc, 'x', caller), passwords.verify(phc, 'x', caller)])
  const own = Number(statFields('/proc/self/stat')[16])
  assert.ok(niceness().includes(Math.min(19, own + 10)), String(niceness()))
})

/** The fields after a thread's name, which may contain blanks and brackets. `nice` is the 17th of them. */
const statFields = (path: string) => readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? []

test('closing ends the threads and answers the callers that still wait', async () => {
  const closing = open(1)
  const phc = await closing.hash('x', caller)
  const calls = Promise.allSettled([closing.verify(phc, 'x', caller), closing.verify(phc, 'x', caller)])
  await closing.close()
  for (const { status } of await calls) assert.equal(status, 'rejected')
  await open().close()
})

test('a system that refuses a lower priority refuses no password, and one line says so', () => {
  // As a sandbox does that forbids the system call; each thread loads this first.
  const refuse = `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module'
    os.setPriority = () => { throw new Error('setPriority returned EACCES') }; syncBuiltinESMExports()`
  const program = `import { randomBytes } from 'node:crypto'
    import { openPasswords } from ${JSON.stringify(new URL('password.ts', import.meta.url).href)}
    const caller = ${JSON.stringify(caller)}
    const said = []
    const log = { error: (...line) => said.push(line), warn: (...line) => said.push(line) }
    const passwords = openPasswords({ randomBytes, log, metrics: { passwordHashed() {} } })
    const hashes = await Promise.all([caller, caller].map(who => passwords.hash('correct horse', who)))
    await passwords.verify(hashes[0], 'correct horse', caller)
    console.log(JSON.stringify({ hashes: hashes.length, said }))
    await passwords.close()`
  const modules = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`
  // A file, because a thread refuses the flags of a program that is given as text.
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-password-'))
  after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'program.mjs')
  writeFileSync(file, program)
  const flags = ['--conditions=keyrail-source', '--import', modules(refuse)]
  const printed = execFileSync(process.execPath, [...flags, file], { encoding: 'utf8' })
  const { hashes, said } = JSON.parse(printed)
  assert.equal(hashes, 2)
  assert.equal(said.length, 1)
  assert.deepEqual(said[0][0], { refusal: 'setPriority returned EACCES' })
})
