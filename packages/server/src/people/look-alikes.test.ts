import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startHarness } from '../../test/harness.ts'
import { madePassword, makePerson } from '../../test/people.ts'
import { addressKey } from './address.ts'

/** Addresses that look or fold alike: none opens another account, receives its mail or creates a second one for it. */
const harness = await startHarness()
const { ask, query } = harness
const password = 'a walk in the park'
const signUp = (email: string) => ask('POST', '/v1/auth/users', { body: { email, password } })
const signIn = (email: string) =>
  ask('POST', '/v1/auth/sessions', { body: { email, password: madePassword } })
const accounts = async () => (await query('select count(*)::int as n from users'))[0].n

test('capitals make no other address: there is one account with one password', async () => {
  await makePerson(query, { email: 'mike@example.com' })
  const before = await accounts()
  assert.equal((await signUp('MIKE@Example.COM')).status, 202)
  assert.equal(await accounts(), before)
  assert.equal((await signIn('Mike@EXAMPLE.com')).status, 201)
})

test('a look-alike address is refused by its path, and no mail is queued', async () => {
  await makePerson(query, { email: 'kim@example.com' })
  const jobs = async () => (await query('select count(*)::int as n from graphile_worker.jobs'))[0].n
  const before = [await accounts(), await jobs()]
  const lookalikes = {
    'dotless i': 'k\u0131m@example.com',
    'Kelvin sign': '\u212aim@example.com',
    'long s': '\u017fim@example.com',
    'full width': 'ｋｉｍ@example.com',
    'combining dot': 'ki\u0307m@example.com',
    Cyrillic: 'k\u0456m@example.com',
    'right-to-left override': '\u202ekim@example.com',
    'zero width': 'ki\u200bm@example.com',
    'two @': 'kim@example.com@evil.example',
    'quoted @': '"kim@example.com"@evil.example',
    comma: 'kim@example.com,eve@evil.example',
    semicolon: 'kim@example.com;eve@evil.example',
    'angle brackets': 'Kim <kim@example.com>',
    comment: 'kim(comment)@example.com',
    'CR LF': 'kim@example.com\r\nBcc: eve@evil.example',
    LF: 'kim@example.com\n',
    NUL: 'kim@example.com\0',
    'blank before': ' kim@example.com',
    'blank behind': 'kim@example.com ',
    'no domain': 'kim@',
    'no dot': 'kim@localhost',
    'address literal': 'kim@[127.0.0.1]',
    'lone surrogate': 'kim\ud800@example.com',
  }
  for (const [name, email] of Object.entries(lookalikes)) {
    for (const [path, body] of [
      ['/v1/auth/users', { email, password }],
      ['/v1/auth/sessions', { email, password: madePassword }],
      ['/v1/auth/password_resets', { email }],
    ] as const) {
      const { status, body: problem } = await ask('POST', path, { body })
      assert.equal(status, 400, `${name} at ${path}: ${JSON.stringify(problem)}`)
      if (problem.code === 'validation_failed') assert.equal(problem.errors[0].path, 'email', name)
    }
  }
  assert.deepEqual([await accounts(), await jobs()], before)
})

test('an address may have 320 characters and no more', async () => {
  const label = 'd'.repeat(63)
  const domain = `${label}.${label}.${label}.${'d'.repeat(58)}.com`
  const local = (length: number) => 'l'.repeat(length - domain.length - 1)
  assert.equal(`${local(320)}@${domain}`.length, 320)
  assert.equal((await signUp(`${local(320)}@${domain}`)).status, 202)
  const { status, body } = await signUp(`${local(321)}@${domain}`)
  assert.deepEqual([status, body.errors[0].path], [400, 'email'])
})

test('folding an address is idempotent', () => {
  fc.assert(fc.property(fc.emailAddress(), email => addressKey(addressKey(email)) === addressKey(email)))
})

test('the service and Postgres fold every accepted address alike', async () => {
  await fc.assert(
    fc.asyncProperty(fc.emailAddress(), async email => {
      const [{ folded }] = await query('select lower($1) as folded', [email])
      assert.equal(folded, addressKey(email))
    }),
    { numRuns: 50 },
  )
})
