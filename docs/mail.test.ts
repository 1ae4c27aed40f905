import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { mailedPages } from '@keyrail/contract/mailed-pages'
import { lettersOf } from '../packages/server/src/hall.ts'
import { keptDays } from '../packages/server/src/platform/jobs/upkeep.ts'
import { graceMs } from '../packages/server/src/platform/jobs/worker.ts'
import { lettersOfNetworkMax, lettersOfPersonMax } from '../packages/server/src/platform/mail/charge.ts'
import { attemptMs, outcomes } from '../packages/server/src/platform/mail/deliver.ts'
import { readMailRoute } from '../packages/server/src/platform/mail/route.ts'
import { timeouts } from '../packages/server/src/platform/mail/smtp.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { codeBlocks, figuresMissing, readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/mail.md')
const { db, query } = await startHarness()

test('the letters match those of the service', () => {
  const parts = { db, randomBytes, publicUrl: 'https://keys.example.com' }
  const kinds = Object.keys(lettersOf(parts))
  assert.deepEqual(
    tableOf(page).map(([kind = '']) => kind.replaceAll('`', '')),
    kinds,
  )
  const pages = tableOf(page).map(([, , path = '']) => path.replaceAll('`', ''))
  assert.deepEqual(
    [...new Set(pages.filter(path => path !== ''))].toSorted(),
    Object.values(mailedPages).toSorted(),
  )
})

test('the service accepts the URLs of the page', () => {
  const urls = codeBlocks(section(page, 'Sending it'))[0]?.text.split('\n') ?? []
  const routes = urls.map(url => readMailRoute(url))
  assert.deepEqual(
    routes.map(route =>
      route.kind === 'folder' ? route.path : [route.secure, route.port, route.upgrade, route.login?.password],
    ),
    [
      [true, 465, 'required', 'p@ssword'],
      [false, 587, 'required', 'p@ssword'],
      [false, 25, 'offered', undefined],
      [false, 1025, 'never', undefined],
      '/srv/keyrail/mail',
    ],
  )
})

test('the number of attempts and the waits match the queue', async () => {
  await query(`select queue_mail('reset', 'reset', sha256('x'), '{}')`)
  const [{ attempts }] = await query('select max_attempts as attempts from graphile_worker.jobs')
  // The library's formula: exp(least(attempts, 10)) seconds.
  const waits = Array.from({ length: attempts - 1 }, (_, i) => Math.exp(Math.min(i + 1, 10)))
  const hours = waits.reduce((sum, wait) => sum + wait, 0) / 3_600
  const first = waits.slice(0, 4).map(wait => `${Math.round(wait)} s`)
  const figures = [...first, `${attempts} attempts`, `${Math.round(hours)} hours`]
  assert.deepEqual(figuresMissing(page, figures), [])
})

test('the times, the throttle and the outcomes match the service', async () => {
  for (let i = 0; i < 9; i++) await query(`select queue_mail('reset', 'flood', sha256('y'), '{}')`)
  const [{ count }] = await query(
    `select cardinality(queued_at) as count from mail_throttles where kind = 'flood'`,
  )
  const figures = [
    ...[timeouts.socket, attemptMs, graceMs].map(milliseconds => `${milliseconds / 1000} s`),
    ...[`${keptDays} days`, `${count} messages an hour`],
    ...[`${lettersOfPersonMax} invitations a day`, `${lettersOfNetworkMax}`],
  ]
  assert.deepEqual(figuresMissing(page, figures), [])
  for (const outcome of outcomes) assert.ok(page.includes(`\`${outcome}\``), outcome)
})
