import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followProgress } from './follow.ts'

function shown(isTTY: boolean, total: number | null): string {
  let text = ''
  const write = (more: unknown) => {
    text += String(more)
    return true
  }
  const progress = followProgress('Importing', total, { isTTY, write })
  progress.at(500)
  progress.end()
  return text
}

test('a terminal shows how far an import has come, and nothing else does', () => {
  assert.match(shown(true, 2_000), /Importing █{6}░{18} 25% of 2,000/)
  assert.match(shown(true, null), /Importing 500 records/)
  assert.equal(shown(false, 2_000), '')
})
