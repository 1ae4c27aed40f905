import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { within } from './within.ts'

const late = () => new Error('late')
const never = new Promise<never>(() => {})

test('what settles first is the result, and an error is thrown', async () => {
  assert.equal(await within(60_000, late, [never, Promise.resolve(1)]), 1)
  await assert.rejects(within(60_000, late, [Promise.reject(new Error('broken')), never]), /broken/)
})

test('a time that is over is late, and no warning of the process', async () => {
  const warnings: string[] = []
  const listen = ({ name }: Error) => void warnings.push(name)
  process.on('warning', listen)
  for (const ms of [0, -1, -22.9]) await assert.rejects(within(ms, late, [never]), /late/)
  await turn()
  process.off('warning', listen)
  assert.deepEqual(warnings, [])
})
