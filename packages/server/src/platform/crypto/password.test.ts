import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { isMainThread } from 'node:worker_threads'
import { Refusal } from '../refusal.ts'
import { openPasswords, waitingMax } from './password.ts'

const told: unknown[][] = []
let hashed = 0
const open = (threads?: number) =>
  openPasswords({
    randomBytes,
    log: { error: (...line: unknown[]) => void told.push(line) },
    metrics: {
      passwordHashed() {
        hashed += 1
      },
    },
    ...(threads !== undefined && { threads }),
  })
const passwords = open()
after(() => passwords.close())

test('a hash is argon2id with 19 MiB, two passes and one lane, and a salt of its own', async () => {
  const form = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/
  const [a, b] = await Promise.all([
    passwords.hash('correct horse', 'name'),
    passwords.hash('correct horse', 'name'),
  ])
  assert.match(a, form)
  assert.match(b, form)
  assert.notEqual(a, b)
})

test('the right password is right and any other is wrong', async () => {
  const phc = await passwords.hash('correct horse', 'name')
  assert.equal(await passwords.verify(phc, 'correct horse', 'name'), true)
  for (const other of ['correct horsf', 'Correct horse', 'correct horse ', '', 'c'])
    assert.equal(await passwords.verify(phc, other, 'name'), false, other)
})

test('a password is taken as given: a NUL ends nothing, nothing is composed, trimmed or cut', async () => {
  const composed = 'caf\u00e9 '.repeat(3)
  for (const [given, other] of [
    ['before\0after', 'before'],
    [composed, composed.normalize('NFD')],
    [' spaces ', 'spaces'],
    ['\u{1f511}'.repeat(256), '\u{1f511}'.repeat(255)],
    [`${'x'.repeat(1023)}y`, `${'x'.repeat(1023)}z`],
  ] as const) {
    const phc = await passwords.hash(given, 'name')
    assert.equal(await passwords.verify(phc, given, 'name'), true)
    assert.equal(await passwords.verify(phc, other, 'name'), false)
  }
})

test('an account that is not there costs one call of the hasher too, and no password is its own', async () => {
  const phc = await passwords.hash('x', 'name')
  for (const stored of [phc, null]) {
    const before = hashed
    assert.equal(await passwords.verify(stored, 'y', 'name'), false)
    assert.equal(hashed - before, 1)
  }
  assert.equal(await passwords.verify(null, 'x', 'name'), false)
  assert.equal(await passwords.verify(null, '', 'name'), false)
})

test('what is stored and is no hash is wrong, told once, and quoted nowhere', async () => {
  told.length = 0
  for (const stored of [
    '',
    'plain text',
    '$argon2id$v=19$m=19456,t=2,p=1$bogus',
    '$2b$10$abcdefghijklmnopqrstuv',
  ])
    assert.equal(await passwords.verify(stored, 'a secret word', 'name'), false)
  assert.equal(told.length, 1)
  assert.doesNotMatch(JSON.stringify(told), /secret word|plain text|bogus/)
})

test('as many wait as there is room for, the next is told to come back, and then there is room again', async () => {
  const one = open(1)
  const phc = await one.hash('x', 'name')
  const calls = Array.from({ length: 1 + waitingMax }, () => one.verify(phc, 'x', 'name'))
  assert.equal(one.waiting(), waitingMax)
  const before = hashed
  await assert.rejects(one.verify(phc, 'x', 'name'), error => {
    assert.ok(error instanceof Refusal)
    assert.deepEqual([error.code, error.headers['retry-after']], ['unavailable', '1'])
    return true
  })
  assert.ok((await Promise.all(calls)).every(isRight => isRight))
  assert.equal(hashed - before, waitingMax + 1, 'who is refused costs nothing')
  assert.equal(one.waiting(), 0)
  assert.equal(await one.verify(phc, 'x', 'name'), true)
  await one.close()
})

test('a flood of one network delays somebody else by a turn, and cannot fill the line for them', async () => {
  const one = open(1)
  const phc = await one.hash('x', 'a')
  const ended: string[] = []
  const verify = (name: string) => one.verify(phc, 'x', name).then(() => ended.push(name))
  const flood = Array.from({ length: 1 + waitingMax }, () => verify('flood'))
  await Promise.all([verify('other'), ...flood])
  assert.ok(ended.indexOf('other') <= 2, `after ${ended.indexOf('other')}`)
  await one.close()
})

test('threads that hash stand behind the one that answers requests', async () => {
  assert.ok(isMainThread)
  const niceness = () =>
    readdirSync('/proc/self/task').map(id => Number(statFields(`/proc/self/task/${id}/stat`)[16]))
  const phc = await passwords.hash('x', 'name')
  await Promise.all([passwords.verify(phc, 'x', 'name'), passwords.verify(phc, 'x', 'name')])
  const own = Number(statFields('/proc/self/stat')[16])
  assert.ok(niceness().includes(Math.min(19, own + 10)), String(niceness()))
})

/** The fields behind a thread's name, which may have blanks and brackets itself: `nice` is the 17th of them. */
const statFields = (path: string) => readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? []

test('closing ends the threads and answers who still waits', async () => {
  const closing = open(1)
  const phc = await closing.hash('x', 'name')
  const calls = Promise.allSettled([closing.verify(phc, 'x', 'name'), closing.verify(phc, 'x', 'name')])
  await closing.close()
  for (const { status } of await calls) assert.equal(status, 'rejected')
  await open().close()
})
