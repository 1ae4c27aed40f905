import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mailedPages } from '@keyrail/contract/mailed-pages'
import { index, makeBuild, writeBuild } from '../../test/dashboard-folder.ts'
import { startHarness } from '../../test/harness.ts'
import type { BuildState } from './dashboard.ts'

const start = (folder: string, state: BuildState) =>
  startHarness({}, null, undefined, { dashboard: { folder, state } })

test('a request waits while the service looks for the build, then gets the page', async () => {
  const { app, deps } = await start(makeBuild(), { kind: 'looking' })
  const asked = app.inject({ url: '/app' })
  deps.dashboard.report({ kind: 'built' })
  assert.equal((await asked).statusCode, 200)
})

test('while it is being built, pages are a 503 that says so and assets a problem', async () => {
  const { app, deps, logged } = await start(makeBuild(), { kind: 'building' })
  for (const url of ['/app', '/app/keys', ...Object.values(mailedPages)]) {
    const { statusCode, headers, body } = await app.inject({ url })
    assert.deepEqual(
      [statusCode, headers['retry-after'], headers['content-type'], headers['cache-control']],
      [503, '1', 'text/html; charset=utf-8', 'no-store'],
    )
    assert.match(body, /<h1>The dashboard is being built<\/h1>/)
    const allowed = [...body.matchAll(/<(?:style|script)>([\s\S]*?)<\/(?:style|script)>/g)]
    assert.equal(allowed.length, 2)
    for (const [, text = ''] of allowed)
      assert.ok(
        String(headers['content-security-policy']).includes(`'sha256-${hash('sha256', text, 'base64')}'`),
      )
    assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
    assert.doesNotMatch(body, /(?:src|action)=|https?:/, 'the page loads nothing')
  }
  const asset = await app.inject({ url: '/app/assets/index-A1b2.js' })
  assert.deepEqual(
    [asset.statusCode, asset.json().code, asset.headers['retry-after']],
    [503, 'unavailable', '1'],
  )
  assert.equal((await app.inject({ url: '/healthz' })).statusCode, 200)
  assert.doesNotMatch(logged.join(''), /"level":"error"/)
  deps.dashboard.report({ kind: 'built' })
  assert.equal((await app.inject({ url: '/app/keys' })).statusCode, 200)
})

test('a failed build is shown without what it printed, and the API works', async () => {
  const { app, deps } = await start(makeBuild(), { kind: 'building' })
  // As a message between processes has it, which may come from a later release.
  const failed = { kind: 'failed', lines: ['src/main.tsx:3'] } as const
  deps.dashboard.report(failed)
  const { statusCode, headers, body } = await app.inject({ url: '/app' })
  assert.equal(statusCode, 503)
  assert.notEqual(headers['retry-after'], '1', 'the waiting page reloads')
  assert.match(body, /<h1>The dashboard could not be built<\/h1>/)
  assert.match(body, /console or the log of the service/)
  assert.doesNotMatch(body, /<script|main\.tsx/)
  for (const url of Object.values(mailedPages)) {
    const link = await app.inject({ url })
    assert.deepEqual([link.statusCode, link.headers['retry-after']], [503, '60'])
    assert.match(
      link.body,
      /This link cannot be opened here[\s\S]*could not be built[\s\S]*has not been used/,
    )
    assert.doesNotMatch(link.body, /main\.tsx/)
  }
  assert.equal((await app.inject({ url: '/app/assets/index-A1b2.js' })).statusCode, 404)
  assert.equal((await app.inject({ url: '/healthz' })).statusCode, 200)
})

test('a missing build is shown and logged, and read once it is there', async () => {
  const folder = makeBuild()
  rmSync(join(folder, 'index.html'))
  const { app, logged } = await start(folder, { kind: 'built' })
  const answer = await app.inject({ url: '/app' })
  assert.equal(answer.statusCode, 503)
  assert.match(answer.body, /could not be built/)
  assert.doesNotMatch(answer.body, /keyrail-dashboard-/, 'no path of the machine')
  assert.match(logged.join(''), /the dashboard cannot be read/)
  writeBuild(folder, { 'index.html': index })
  assert.equal((await app.inject({ url: '/app' })).statusCode, 200)
})

test('a later build in the same folder changes nothing until the next start', async () => {
  const folder = makeBuild()
  const { app, deps } = await start(folder, { kind: 'looking' })
  deps.dashboard.report({ kind: 'built' })
  const asset = '/app/assets/index-A1b2.js'
  const first = await app.inject({ url: asset })
  rmSync(join(folder, 'assets'), { recursive: true })
  const later = index.replace('index-A1b2.js', 'index-E5f6.js')
  writeBuild(folder, { 'index.html': later, 'assets/index-E5f6.js': 'later', 'built.json': '{}' })
  assert.match((await app.inject({ url: '/app' })).body, /index-A1b2\.js/)
  assert.equal((await app.inject({ url: asset })).body, first.body)
  assert.equal((await app.inject({ url: '/app/assets/index-E5f6.js' })).statusCode, 404)
  const next = await start(folder, { kind: 'built' })
  assert.match((await next.app.inject({ url: '/app' })).body, /index-E5f6\.js/)
})
