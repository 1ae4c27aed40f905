import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from './until.ts'

/** A state that holds at the n-th look. */
const atLook = (n: number) => {
  let looks = 0
  return () => {
    looks += 1
    return looks === n
  }
}

test('until looks again until the state holds', async () => {
  await until(atLook(110))
  await until(async () => true)
})

test('until fails with the state in words if it never holds', async () => {
  await assert.rejects(
    until(() => false, undefined, 110),
    /^Error: still waiting until \(\) => false$/,
  )
  await assert.rejects(until(atLook(3), 'the fleet is up', 2), /^Error: still waiting until the fleet is up$/)
})
