import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { keyRefusals, refusalStatus } from '@keyrail/contract/verdicts'
import { type Service, startService } from '../../deploy/guard-stage.ts'
import { codeBlocks, readDocument, section, tableOf } from '../../docs/documents.ts'
import { createKeyring } from '../../packages/sdk/src/index.ts'
import { drawKey } from '../../packages/sdk/test/keys.ts'
import { until } from '../../packages/server/test/until.ts'
import { monthly } from '../../packages/server/test/verifying.ts'
import { serveArchives } from '../archive-stage.ts'
import { runPython, source, startVendor, type VendorProgram } from './stage.ts'

const run = promisify(execFile)
const page = readDocument('clients/python/README.md')
const blockOf = (heading: string): string =>
  codeBlocks(section(page, heading)).find(({ language }) => language === 'python')?.text ??
  assert.fail(heading)
const scopes = ['orders:read']

describe('the package', () => {
  test('its own tests pass', async () => {
    const env = { HOME: tmpdir() }
    await runPython(['-W', 'error', '-m', 'unittest', 'discover', '-s', 'tests', '-t', '.'], env)
  })

  test('every file compiles without a warning', async () => {
    const cache = mkdtempSync(join(tmpdir(), 'keyrail-python-'))
    const compile = ['-W', 'error', '-X', `pycache_prefix=${cache}`, '-m', 'compileall', '-q', '-f', '.']
    await runPython(compile, { PYTHONDONTWRITEBYTECODE: '' }).finally(() =>
      rmSync(cache, { recursive: true }),
    )
  })

  test('pip installs it as the page says, and no link of the page needs a checkout', async () => {
    assert.doesNotMatch(page, /\]\((?!https:)/)
    const install = codeBlocks(section(page, 'Install'))[0]?.text ?? assert.fail('Install')
    const folder = mkdtempSync(join(tmpdir(), 'keyrail-python-'))
    const archives = await serveArchives()
    try {
      await runPython(['-m', 'venv', '--system-site-packages', folder])
      const env = { PATH: `${folder}/bin:${process.env.PATH}`, KEYRAIL: archives.url, PYTHONPATH: '' }
      // The tools of this machine build it: a test takes nothing from a network.
      const offline = { ...env, PIP_NO_INDEX: '1', PIP_NO_BUILD_ISOLATION: '0', PIP_CONFIG_FILE: '/dev/null' }
      await run('bash', ['-ec', install], { cwd: folder, env: offline })
      const said = await run('python', ['-c', 'import keyrail; print(keyrail.__file__)'], {
        cwd: folder,
        env,
      })
      assert.ok(said.stdout.startsWith(folder), said.stdout)
    } finally {
      archives.end()
      rmSync(folder, { recursive: true })
    }
  })

  test('it has the version of the project', () => {
    const { version } = JSON.parse(readDocument('package.json'))
    assert.match(
      readFileSync(join(source, 'pyproject.toml'), 'utf8'),
      new RegExp(`^version = "${version}"$`, 'm'),
    )
    assert.match(
      readFileSync(join(source, 'keyrail/world.py'), 'utf8'),
      new RegExp(`^VERSION = "${version}"$`, 'm'),
    )
  })

  test('the page has every verdict with its status, every option and its default', async () => {
    const rows = tableOf(section(page, 'Verdicts'))
    const codes = Object.keys(keyRefusals) as (keyof typeof keyRefusals)[]
    assert.deepEqual(
      rows.map(([code, , status]) => [code, status]),
      codes.map(code => [`\`${code}\``, String(refusalStatus(code))]),
    )
    const signature = (of: string) =>
      runPython([
        '-c',
        `import inspect, json, keyrail; print(json.dumps([name for name, each in
        inspect.signature(${of}).parameters.items() if each.kind is each.KEYWORD_ONLY]))`,
      ])
    const named = (heading: string) =>
      tableOf(section(page, heading)).map(([name = '']) => name.replaceAll('`', ''))
    assert.deepEqual(named('Options'), JSON.parse(await signature('keyrail.Keyring')))
    assert.deepEqual(named('The gate'), JSON.parse(await signature('keyrail.Gate')))
  })
})

describe('programs of a vendor', () => {
  const running: VendorProgram[] = []
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-python-'))
  let service: Service
  before(async () => {
    service = await startService()
  })
  after(async () => {
    for (const program of running) await program.end('SIGKILL')
    await service?.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  const start = async (kind: string, text: string, env: Record<string, string> = {}) => {
    const program = await startVendor(kind, text, { ...service.env, ...env })
    running.push(program)
    return program
  }
  const codeOf = (text: string): string => JSON.parse(text).code
  const usageOf = async (id: string): Promise<number> => {
    const path = `/v1/keys/${id}/usage`
    const { body } = await service.ask('GET', path, { token: service.scene.live })
    return body.total
  }

  const middleware =
    'from django.http import JsonResponse\n\n\ndef orders(request):\n    return JsonResponse({"tenant": request.api_key.tenant_id})\n'
  for (const { name, kind, text } of [
    { name: 'WSGI', kind: 'wsgi', text: blockOf('WSGI') },
    { name: 'ASGI', kind: 'asgi', text: blockOf('ASGI') },
    { name: 'FastAPI', kind: 'asgi', text: blockOf('FastAPI') },
    { name: 'Flask', kind: 'flask', text: blockOf('Flask') },
    { name: 'Django', kind: 'django', text: blockOf('Django') },
    { name: 'Django with the middleware', kind: 'django-middleware', text: middleware },
  ])
    test(`${name}: keys, scopes, limits, a revocation and usage`, async () => {
      const { tenantId } = service.scene
      const [valid, limited, bare] = [
        await service.issue({ scopes }),
        await service.issue({ scopes, rate_limits: [monthly(2)] }),
        await service.issue(),
      ]
      const program = await start(kind, text)
      await until(async () => (await program.ask(valid.key)).status === 200, 'keys are loaded')
      assert.ok((await program.ask(valid.key)).text.includes(tenantId))

      const unknown = await program.ask(drawKey())
      assert.deepEqual([unknown.status, codeOf(unknown.text)], [401, 'unknown_key'])
      assert.equal(unknown.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
      assert.equal(unknown.headers.get('content-type'), 'application/problem+json')
      assert.equal(unknown.headers.get('cache-control'), 'no-store')
      const none = await program.ask()
      assert.deepEqual([none.status, codeOf(none.text)], [401, 'missing_key'])
      const lacking = await program.ask(bare.key)
      assert.equal(lacking.status, 403)
      assert.deepEqual(JSON.parse(lacking.text).scopes, scopes)

      const answers = []
      for (let request = 0; request < 4; request++) answers.push(await program.ask(limited.key))
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 429, 429],
      )
      assert.match(answers[0]?.headers.get('ratelimit') ?? '', /^"month";r=1;t=\d+$/)
      assert.match(answers[2]?.headers.get('retry-after') ?? '', /^\d+$/)
      assert.equal(answers[3]?.headers.get('ratelimit-policy'), '"month";q=2;w=2678400')

      await service.ask('POST', `/v1/keys/${valid.id}/revoke`, { token: service.scene.live })
      await until(async () => (await program.ask(valid.key)).status === 401, 'the revocation has arrived')
      assert.equal(codeOf((await program.ask(valid.key)).text), 'revoked_key')

      assert.equal(await program.end(), 0)
      await until(async () => (await usageOf(limited.id)) === 2, 'the service shows the usage')
    })

  test('the first example of the page judges a key', async () => {
    const { key } = await service.issue({ scopes })
    const program = `${blockOf('Use')}\nimport sys\nprint(judge(sys.argv[1]), judge("kr_live_x"))\nkeyring.close()\n`
    const said = await runPython(['-c', program, key], service.env)
    assert.equal(said, `${service.scene.tenantId} malformed_key\n`)
  })

  test('without the service keys live on, end in time, and come back from either disk', async () => {
    const { key } = await service.issue({ scopes })
    const [own, other] = [join(folder, 'own'), join(folder, 'sdk')]
    const withOptions = (options: string) => blockOf('WSGI').replace('Keyring()', `Keyring(${options})`)
    const onDisk = 'cache_dir=__import__("os").environ["CACHE"]'
    const isServed = (program: VendorProgram) => async () => (await program.ask(key)).status === 200
    const brief = await start('wsgi', withOptions('cached_ttl=3, poll_interval=0.5'))
    const kept = await start('wsgi', withOptions(onDisk), { CACHE: own })
    for (const program of [brief, kept]) await until(isServed(program), 'keys are loaded')
    const { KEYRAIL_URL: url, KEYRAIL_SECRET_KEY: secretKey, KEYRAIL_PROJECT: project } = service.env
    const options = {
      url,
      secretKey,
      project,
      onError() {},
      onNotice: ({ code }: { code: string }) => assert.fail(code),
    }
    const keyring = createKeyring({ ...options, cacheDir: other })
    await keyring.ready()
    await keyring.close()
    assert.equal(await kept.end(), 0)

    await service.kill()
    assert.equal((await brief.ask(key)).status, 200)
    await until(async () => (await brief.ask(key)).status === 503, 'the keys are stale')
    const stale = await brief.ask(key)
    assert.deepEqual([codeOf(stale.text), stale.headers.get('retry-after')], ['stale', '5'])

    for (const directory of [own, other]) {
      const again = await start('wsgi', withOptions(onDisk), { CACHE: directory })
      await until(isServed(again), 'the keys of the disk are served')
      await again.end('SIGKILL')
    }
    const next = createKeyring({ ...options, cacheDir: own })
    await next.ready()
    assert.equal(next.verify(key, { scopes }).code, 'valid')
    assert.equal(next.stats().source, 'disk')
    await next.close()
  })
})
