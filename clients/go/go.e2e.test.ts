import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { type Service, startService } from '../../deploy/guard-stage.ts'
import { codeBlocks, section } from '../../docs/documents.ts'
import { until } from '../../packages/server/test/until.ts'
import { issueKey, makeSecretKey, makeTenant } from '../../packages/server/test/vendor.ts'
import { monthly } from '../../packages/server/test/verifying.ts'
import { serveArchives } from '../archive-stage.ts'
import { goEnv, type Vendor, VendorPrograms } from './vendor-program.ts'

const here = import.meta.dirname
const run = promisify(execFile)
const readme = readFileSync(join(here, 'README.md'), 'utf8')
const sample = (heading: string, language: string) =>
  codeBlocks(section(readme, heading)).find(block => block.language === language)?.text ??
  assert.fail(heading)

test('the package is formatted, has no faults that vet knows, and passes its own tests', async () => {
  const { stdout: unformatted } = await run('gofmt', ['-l', '.'], { cwd: here })
  assert.equal(unformatted, '')
  await run('go', ['vet', './...'], { cwd: here, env: goEnv })
  const { stdout } = await run('go', ['test', '-count=1', './...'], { cwd: here, env: goEnv })
  assert.match(stdout, /^ok\s/)
})

test('the page of the archive has no link that only a checkout can follow', () => {
  assert.doesNotMatch(readme, /\]\((?!https:)/)
})

test('the package needs nothing beyond the standard library, on any system', async () => {
  assert.doesNotMatch(readFileSync(join(here, 'go.mod'), 'utf8'), /require/)
  for (const [GOOS, GOARCH] of [
    ['darwin', 'arm64'],
    ['windows', 'amd64'],
    ['linux', 'arm'],
  ])
    await run('go', ['vet', '.'], { cwd: here, env: { ...goEnv, GOOS, GOARCH } })
})

describe('the program of the page, beside a service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-go-'))
  const programs = new VendorPrograms(folder)
  let service: Service
  let env: Record<string, string>
  let tenantId: string
  let archives: Awaited<ReturnType<typeof serveArchives>>
  let first: Vendor
  let brief: Vendor
  before(async () => {
    service = await startService()
    const { scene, ask } = service
    const node = await makeSecretKey({ ask }, scene, { preset: 'node', project_ids: [scene.projectId] })
    tenantId = (await makeTenant({ ask }, scene, { external_id: 'acme' })).id
    env = { ...service.env, KEYRAIL_SECRET_KEY: node.key, CACHE_DIR: join(folder, 'keys') }
    archives = await serveArchives()
    spawnSync('go', ['mod', 'init', 'example.com/orders'], { cwd: folder, env: goEnv })
    await run('bash', ['-ec', sample('Install', 'sh')], {
      cwd: folder,
      env: { ...goEnv, KEYRAIL: archives.url },
    })
    writeFileSync(join(folder, 'main.go'), programs.edited(sample('Use', 'go')))
    await run('go', ['build', '-o', 'orders', '.'], { cwd: folder, env: goEnv })
    first = await programs.start(env)
    brief = await programs.start({ ...env, CACHE_DIR: '', CACHED_TTL: '4s' })
  })
  after(async () => {
    await programs.kill()
    await service?.remove()
    archives?.end()
    rmSync(folder, { recursive: true, force: true })
  })
  const issue = (more: Record<string, unknown> = {}) =>
    issueKey({ ask: service.ask }, { ...service.scene, tenantId }, { scopes: ['orders:read'], ...more })
  const passes = async (program: Vendor, key: string) => (await program.ask(key)).status === 200

  test('a key passes with its tenant, and without its scope or unknown it does not', async () => {
    const { id, key } = await issue()
    await until(() => passes(first, key), 'the program knows the key')
    assert.equal((await first.ask(key)).text, `${id} sees acme\n`)
    const unscoped = await issue({ scopes: ['orders:write'] })
    await until(async () => (await first.ask(unscoped.key)).status === 403, 'the scope is missed')
    const invented = await first.ask(`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`)
    assert.deepEqual([invented.status, JSON.parse(invented.text).code], [401, 'malformed_key'])
    assert.equal(invented.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
    assert.equal(invented.headers.get('content-type'), 'application/problem+json')
    assert.equal((await first.ask()).status, 401)
  })

  test('a revoked key is refused by all nodes when the service says so', async () => {
    const { id, key } = await issue()
    await until(async () => (await passes(first, key)) && (await passes(brief, key)), 'both know the key')
    const { body } = await service.ask('POST', `/v1/keys/${id}/revoke?wait=true`, {
      token: service.scene.live,
    })
    const { acknowledged, nodes } = body.propagation
    assert.deepEqual([acknowledged, nodes], [true, 2])
    for (const program of [first, brief]) {
      const { status, text } = await program.ask(key)
      assert.deepEqual([status, JSON.parse(text).code], [401, 'revoked_key'])
    }
  })

  test('a key with a limit gets its headers, and 429 when it is used up', async () => {
    const { key } = await issue({ rate_limits: [monthly(2)] })
    const seen: [number, string | null][] = []
    await until(() => passes(first, key), 'the program knows the key')
    for (let request = 0; request < 3; request += 1) {
      const { status, headers } = await first.ask(key)
      seen.push([status, headers.get('ratelimit')?.replace(/;t=\d+/, '') ?? null])
    }
    assert.deepEqual(seen, [
      [200, '"month";r=0'],
      [429, '"month";r=0'],
      [429, '"month";r=0'],
    ])
    assert.ok(Number((await first.ask(key)).headers.get('retry-after')) > 0)
  })

  test('requests are counted once, and the service shows them', async () => {
    const { id, key } = await issue()
    await until(() => passes(first, key), 'the program knows the key')
    for (let request = 0; request < 5; request += 1) await first.ask(key)
    const used = async () =>
      (await service.ask('GET', `/v1/keys/${id}/usage?days=2`, { token: service.scene.live })).body.total
    await until(async () => (await used()) >= 6, 'the report has arrived')
    assert.equal(await used(), 6)
  })

  test('without the service keys go on until they are stale, and a new process has its disk', async () => {
    const { key } = await issue()
    await until(async () => (await passes(first, key)) && (await passes(brief, key)), 'both know the key')
    await service.kill()
    assert.ok(await passes(brief, key))
    assert.equal(await first.end(), 0)
    const second = await programs.start(env)
    await until(() => passes(second, key), 'the keys of the disk are served')
    await until(async () => (await brief.ask(key)).status === 503, 'the keys are stale')
    const stale = await brief.ask(key)
    assert.deepEqual([JSON.parse(stale.text).code, stale.headers.get('retry-after')], ['stale', '5'])
    assert.ok(await passes(second, key))
  })

  test('no program has printed the secret key', () => {
    assert.ok(!programs.output().includes(env.KEYRAIL_SECRET_KEY ?? ''))
  })
})
