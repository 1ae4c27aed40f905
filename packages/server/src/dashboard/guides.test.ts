import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { errors } from '@keyrail/contract/errors'
import { writeGuides } from '../../../dashboard/guides/write.ts'
import { makeBuild } from '../../test/dashboard-folder.ts'
import { startHarness } from '../../test/harness.ts'
import { checkout } from '../../test/source-files.ts'

const folder = makeBuild()
writeGuides(checkout, folder)
const archive = Buffer.from('1f8b08', 'hex')
mkdirSync(join(folder, 'packages'))
writeFileSync(join(folder, 'packages', 'keyrail-sdk-0.1.0.tgz'), archive)
const harness = await startHarness({ publicUrl: 'https://keys.example' }, null, undefined, {
  dashboard: { folder },
})
const { app } = harness
const get = (url: string) => app.inject({ url })

/** What a page of the manual leads to, and loads. */
const linksOf = (html: string) =>
  [...html.matchAll(/(?:href|src|srcset)="([^"]*)"/g)].map(([, link = '']) => link)
const paths = ['guides', 'errors'].flatMap(part =>
  readdirSync(join(folder, part), { recursive: true })
    .filter(name => String(name).endsWith('.html'))
    .map(name => `/${part}/${String(name).replace(/\.html$/, '')}`),
)
const pages = paths.map(path => (path === '/guides/index' ? '/guides' : path))

test('every page of the manual is served, and each link in it leads to something there', async () => {
  assert.ok(pages.length > 80, String(pages.length))
  const bodies = new Map<string, string>()
  for (const url of pages) {
    const { statusCode, headers, body } = await get(url)
    assert.deepEqual([statusCode, headers['content-type']], [200, 'text/html; charset=utf-8'], url)
    assert.match(String(headers['content-security-policy']), /^default-src 'none'; script-src 'self'; /)
    bodies.set(url, body)
  }
  const known = new Set(['/app', '/docs/', '/app/icon.svg'])
  for (const [url, body] of bodies) {
    for (const link of linksOf(body)) {
      const [path = '', anchor] = link.split('#')
      const at = `${url}: ${link}`
      if (known.has(path)) continue
      if (path.startsWith('/guides/') && /\.\w+$/.test(path)) {
        assert.equal((await get(path)).statusCode, 200, at)
        known.add(path)
        continue
      }
      const target = bodies.get(path === '' ? url : path)
      assert.ok(target !== undefined, at)
      if (anchor !== undefined) assert.ok(target.includes(`id="${anchor}"`), at)
    }
  }
})

test('a problem names the page about its code at this installation, and that page is there', async () => {
  const { type } = (await get('/v1/keys')).json()
  assert.equal(type, 'https://keys.example/errors/unauthenticated')
  for (const code of Object.keys(errors)) {
    const { statusCode, body } = await get(`/errors/${code}`)
    assert.equal(statusCode, 200, code)
    assert.match(body, new RegExp(`<h1 id="${code}">${code}</h1>\\n<p>Status \\d+`))
    assert.match(body, /Fix: /)
  }
})

test('a manual has no page of another name, and none above its folder', async () => {
  for (const url of ['/guides/nothing', '/errors/nothing', '/guides/%2e%2e/index.html', '/errors/a/b'])
    assert.notEqual((await get(url)).statusCode, 200, url)
  assert.doesNotMatch((await get('/app/guides/people.html')).body, /People/)
  assert.equal((await get('/guides/')).statusCode, 200)
})

test('without a dashboard there is no manual, and while it is built a page says so', async () => {
  const off = await startHarness({ dashboard: 'off' })
  for (const url of ['/guides', '/guides/people', '/errors/not_found'])
    assert.equal((await off.app.inject({ url })).statusCode, 404, url)
  const building = await startHarness({}, null, undefined, {
    dashboard: { folder, state: { kind: 'building' } },
  })
  const { statusCode, headers, body } = await building.app.inject({ url: '/errors/not_found' })
  assert.deepEqual([statusCode, headers['retry-after']], [503, '1'])
  assert.match(body, /is being built/)
})

test('a name in angle brackets is text, and a missing document fails the build', () => {
  const root = mkdtempSync(join(tmpdir(), 'keyrail-guides-'))
  try {
    const html = readFileSync(join(folder, 'guides/configuration.html'), 'utf8')
    assert.match(html, /&lt;port&gt;/)
    assert.throws(() => writeGuides(root, join(root, 'out')), { code: 'ENOENT' })
  } finally {
    rmSync(root, { recursive: true })
  }
})

test('packages are served as files, and others are not there', async () => {
  const { statusCode, headers, rawPayload } = await get('/packages/keyrail-sdk-0.1.0.tgz')
  assert.deepEqual([statusCode, headers['content-type']], [200, 'application/gzip'])
  assert.deepEqual(rawPayload, archive)
  for (const path of ['/packages/keyrail-sdk-9.9.9.tgz', '/packages/..%2findex.html', '/packages/'])
    assert.equal((await get(path)).statusCode, 404, path)
})
