import assert from 'node:assert/strict'
import { test } from 'node:test'
import { securityEventKinds } from '@keyrail/contract/security-events'
import { keptDays } from '../packages/server/src/security-events/sql.ts'
import { heldMax, rowsOfNobody, rowsPerWorkspace } from '../packages/server/src/security-events/tally.ts'
import { readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/security-events.md')
const text = page.replaceAll(/\s+/g, ' ')

test('the kinds match the contract', () => {
  const kinds = tableOf(section(page, 'Kinds')).map(([kind = '']) => kind.replaceAll('`', ''))
  assert.deepEqual(kinds, securityEventKinds)
})

test('the bounds match the code', () => {
  assert.ok(text.includes(`at most ${rowsPerWorkspace} such rows a minute`))
  assert.ok(text.includes(`events without a workspace ${rowsOfNobody}.`))
  assert.ok(text.includes(`up to ${heldMax.toLocaleString('en')} rows`))
  assert.ok(section(page, 'How long they stay').trim().startsWith(`${keptDays} days.`))
})
