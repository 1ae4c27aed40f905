import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { makeBuild } from '../../test/dashboard-folder.ts'
import { startHarness } from '../../test/harness.ts'

const script = `console.log(${JSON.stringify('widget '.repeat(1_000))})\n`
const older = `console.log('older')\n`
const integrity = 'sha384-of-the-test'
const folder = makeBuild({
  'assets/keyrail-keys-A1b_.js': script,
  'assets/keyrail-keys-C3-d.js': older,
  'widget.json': JSON.stringify({ file: 'keyrail-keys-A1b_.js', integrity }),
})
const { app } = await startHarness({}, null, undefined, { dashboard: { folder } })
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

test('pages of every origin may load the widget, and a version is kept for a year', async () => {
  for (const [name, caching, text] of [
    ['keyrail-keys.js', 'no-cache', script],
    ['keyrail-keys-A1b_.js', 'public, max-age=31536000, immutable', script],
    ['keyrail-keys-C3-d.js', 'public, max-age=31536000, immutable', older],
  ] as const) {
    const { statusCode, headers, body } = await get(`/embed/v1/${name}`)
    assert.deepEqual([statusCode, body], [200, text], name)
    assert.equal(headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(headers['cache-control'], caching)
    assert.equal(headers['access-control-allow-origin'], '*')
    assert.equal(headers['cross-origin-resource-policy'], 'cross-origin')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['set-cookie'], undefined)
    const again = await get(`/embed/v1/${name}`, { 'if-none-match': String(headers.etag) })
    assert.equal(again.statusCode, 304)
  }
  const { rawPayload } = await get('/embed/v1/keyrail-keys.js', { 'accept-encoding': 'gzip' })
  assert.equal(gunzipSync(rawPayload).toString(), script)
})

test('the newest version is named with its integrity', async () => {
  const { headers, body } = await get('/embed/v1/keyrail-keys.json')
  assert.deepEqual(JSON.parse(body), { src: '/embed/v1/keyrail-keys-A1b_.js', integrity })
  assert.equal(headers['cache-control'], 'no-cache')
  assert.equal(headers['access-control-allow-origin'], '*')
})

test('no other file of the build is served there, and no other method', async () => {
  for (const name of [
    '',
    'keyrail-keys-Z9z9.js',
    'index-A1b2.js',
    'widget.json',
    'constructor',
    '__proto__',
  ]) {
    const { statusCode, body } = await get(`/embed/v1/${name}`)
    assert.deepEqual([statusCode, JSON.parse(body).code], [404, 'route_not_found'], name)
  }
  const posted = await app.inject({ method: 'POST', url: '/embed/v1/keyrail-keys.js' })
  assert.deepEqual([posted.statusCode, posted.headers.allow], [405, 'GET, HEAD'])
  assert.equal((await get('/app/widget.json')).headers['content-type'], 'text/html; charset=utf-8')
})

test('SERVICE_DASHBOARD=off serves no widget either, and a build without one answers 404', async () => {
  const off = await startHarness({ dashboard: 'off' }, null, undefined, { dashboard: { folder } })
  const without = await startHarness({}, null, undefined, { dashboard: { folder: makeBuild() } })
  for (const { app } of [off, without])
    assert.equal((await app.inject({ url: '/embed/v1/keyrail-keys.js' })).statusCode, 404)
})
