import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { RouteTable } from '../packages/guard/src/route-table.ts'
import { settings } from '../packages/guard/src/settings.ts'
import { startGuard } from '../packages/guard/test/stage.ts'
import { checkout, codeBlocks, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/guard.md')
const bare = (cell = '') => cell.replaceAll('`', '')

test('the page on the guard has its settings', () => {
  const rows = tableOf(section(page, 'Settings')).map(([name, value, why]) => [bare(name), bare(value), why])
  const declared = Object.entries(settings).map(([name, { default: value, why }]) => [name, value ?? '', why])
  assert.deepEqual(rows, declared)
})

test('the page on the guard has its metrics', async () => {
  const { ask, withKey } = await startGuard()
  await withKey('/auth', 'wrong')
  const { body } = await ask('/metrics')
  const shown = [...body.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, type]) => [name, type])
  const listed = tableOf(section(page, 'Metrics')).map(([name, type]) => [bare(name), type])
  assert.deepEqual(shown, listed)
})

test('the files that the page on the guard names exist, and its table is the shipped one', () => {
  for (const [file] of page.matchAll(/deploy\/guard\/[\w.-]+/g))
    assert.ok(existsSync(join(checkout, file)), file)
  const shown = codeBlocks(section(page, 'What a request must fulfil')).find(
    ({ language }) => language === 'json',
  )
  assert.deepEqual(JSON.parse(shown?.text ?? ''), JSON.parse(readDocument('deploy/guard/routes.json')))
  const table = new RouteTable(readDocument('deploy/guard/routes.json'))
  const order = table.demandsOf({ method: 'POST', uri: '/orders/17' })
  assert.deepEqual(order, { scopes: ['orders:write'], cost: 5 })
})

test('the verdict on the page on the guard has the members of a real one', async () => {
  const { keyrail, ask } = await startGuard()
  const minute = { id: 'minute', limit: 100, windowMs: 60_000, algorithm: 'fixed', scope: 'key' } as const
  const { key } = keyrail.issue({ scopes: ['orders:read'], rateLimits: [minute] })
  const { body } = await ask('/verify', { method: 'POST', body: JSON.stringify({ key }) })
  const [, shown] = codeBlocks(section(page, 'From a program'))
  const namesOf = (value: Record<string, unknown>) =>
    Object.entries(value).map(([name, member]) => [name, Object.keys(member ?? {})])
  assert.deepEqual(namesOf(JSON.parse(shown?.text ?? '')), namesOf(body))
})
