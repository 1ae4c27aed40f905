import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pause } from './pause.ts'

test('a time that is over already is no wait, and no warning of Node', async () => {
  const warnings: string[] = []
  const listen = ({ name }: Error) => void warnings.push(name)
  process.on('warning', listen)
  try {
    for (const milliseconds of [-1, -40_000, 0]) await pause(milliseconds, new AbortController().signal)
    await setImmediate()
    assert.deepEqual(warnings, [])
  } finally {
    process.off('warning', listen)
  }
})
