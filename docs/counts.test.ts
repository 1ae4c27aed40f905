import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { routes } from '../packages/server/src/routes.ts'
import { settings } from '../packages/server/src/settings.ts'
import { checkout, documentsWithText, figuresMissing, readDocument, section, tableOf } from './documents.ts'

/** What pages may count, and how many of it there are. */
const counted: Record<string, number> = {
  migrations: globSync('packages/server/migrations/*.sql', { cwd: checkout }).length,
  // docs/architecture.test.ts compares this table with the service.
  lanes: tableOf(section(readDocument('docs/scaling.md'), 'Lanes')).length,
  settings: Object.keys(settings).length,
  routes: routes.length,
  decisions: globSync('docs/decisions/*.md', { cwd: checkout }).length,
  drills: globSync('drills/p[0-9]*.ts', { cwd: join(checkout), exclude: ['**/*.test.ts'] }).length,
}

const small = 'three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen'
const twenties = ['', '-one', '-two', '-three', '-four', '-five'].map(part => `twenty${part}`)
const words = `${small} seventeen eighteen nineteen ${twenties.join(' ')}`.split(' ')
const stated = new RegExp(`\\b(\\d+|${words.join('|')}) (${Object.keys(counted).join('|')})\\b`, 'gi')

/** Counts of a page that are not those of the code. */
const wrongCounts = (text: string): string[] =>
  [...text.matchAll(stated)].flatMap(([found, number = '', thing = '']) => {
    const value = /\d/.test(number) ? Number(number) : words.indexOf(number.toLowerCase()) + 3
    return value === counted[thing.toLowerCase()] ? [] : [found]
  })

test('every count of migrations, lanes, settings, routes, decisions or drills is right', () => {
  // A decision counts what there was when it was made.
  for (const { path, text } of documentsWithText())
    if (!path.startsWith('docs/decisions/')) assert.deepEqual(wrongCounts(text), [], path)
})

test('a page with a wrong count is found', () => {
  const right = Object.entries(counted).map(([thing, count]) => `${count} ${thing}`)
  assert.deepEqual(wrongCounts(right.join(', ')), [])
  assert.deepEqual(wrongCounts('its three lanes, all 14 migrations'), ['three lanes', '14 migrations'])
})

test('a figure is found in any words, and not within another number or unit', () => {
  assert.deepEqual(figuresMissing('It waits\n30 s, and 1,200 times.', ['30 s', '1,200']), [])
  assert.deepEqual(figuresMissing('It waits 30 seconds, 1,200 times.', ['30 s', '200', '0']), [
    '30 s',
    '200',
    '0',
  ])
})
