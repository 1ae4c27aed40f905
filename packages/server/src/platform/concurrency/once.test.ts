import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { registerHooks } from 'node:module'
import { test } from 'node:test'
import { openPasswords } from '../crypto/password.ts'
import { weaknessOf } from '../crypto/weak-passwords.ts'
import { openJsonThread } from '../http/body/json-thread.ts'

/** Libraries that are loaded at their first use, which fails while no more files can be opened. */
const late = ['piscina', '@zxcvbn-ts/language-common']
let isFull = true
registerHooks({
  resolve(specifier, context, next) {
    if (isFull && late.includes(specifier)) throw new Error('EMFILE: too many open files')
    return next(specifier, context)
  },
})

test('what cannot be loaded at its first use is loaded at a later one', async t => {
  const log = { error() {}, warn() {} } as never
  const passwords = openPasswords({ randomBytes, log, metrics: { passwordHashed() {} } })
  const thread = openJsonThread(log)
  t.after(async () => {
    await passwords.close()
    await thread.close()
  })
  const uses = [
    () => passwords.hash('correct horse battery', { ip: '192.0.2.1', standing: 'stranger' }),
    () => thread.parse(Buffer.from('{}'), 'me'),
    () => weaknessOf('correct horse battery', 'a@example.com'),
  ]
  for (const use of uses) await assert.rejects(use())
  isFull = false
  for (const use of uses) await use()
})

test('what has failed to load can be closed', async () => {
  isFull = true
  const log = { error() {}, warn() {} } as never
  const thread = openJsonThread(log)
  await assert.rejects(thread.parse(Buffer.from('{}'), 'me'))
  await thread.close()
  isFull = false
})
