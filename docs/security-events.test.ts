import assert from 'node:assert/strict'
import { test } from 'node:test'
import { securityEventKinds } from '@keyrail/contract/security-events'
import { keptDays } from '../packages/server/src/security-events/sql.ts'
import { heldMax, rowsOfNobody, rowsPerWorkspace } from '../packages/server/src/security-events/tally.ts'
import { figuresMissing, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/security-events.md')

test('the kinds match the contract', () => {
  const kinds = tableOf(section(page, 'Kinds')).map(([kind = '']) => kind.replaceAll('`', ''))
  assert.deepEqual(kinds, securityEventKinds)
})

test('the bounds match the code', () => {
  const bounds = [`${rowsPerWorkspace}`, `${rowsOfNobody}`, `${heldMax.toLocaleString('en')} rows`]
  assert.deepEqual(figuresMissing(page, bounds), [])
  assert.deepEqual(figuresMissing(section(page, 'How long they stay'), [`${keptDays} days`]), [])
})
