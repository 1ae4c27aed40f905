import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { KeyrailError } from '../src/runtime/errors.ts'

/** The error of a call that must fail. Nothing visible in it contains the secret. */
export async function failureOf(running: Promise<unknown>, secret?: string): Promise<KeyrailError> {
  const error = await running.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof KeyrailError, String(error))
  if (secret !== undefined)
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(secret.slice(10)))
  return error
}
