import assert from 'node:assert/strict'
import { globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { publint } from 'publint'
import { projectId, secretKey, startFeedService } from './feed-service.ts'
import { drawKey, policyKey } from './keys.ts'
import { installPacked, run } from './packed.ts'
import { installRuntimes, runtimePath } from './runtimes.ts'
import { reachedFrom } from './workerd.ts'

/** The package as it is installed from its archive, in a folder that knows nothing of this checkout. */

await installRuntimes()
const source = join(import.meta.dirname, '..')
const { folder, home, tarball, unpackedSize } = await installPacked(tmpdir())

const modules = join(source, '..', '..', 'node_modules')
const texts = globSync('dist/**/*', { cwd: home })
  .filter(file => /\.(?:js|d\.ts)$/.test(file))
  .map(file => ({ file, text: readFileSync(join(home, file), 'utf8') }))

/** Every Node that the package is made for. */
const nodes = [process.execPath, runtimePath('node20'), runtimePath('node22')]

test('both forms load, take keys from a service and verify them, on every Node', async () => {
  const service = await startFeedService()
  const key = drawKey()
  service.upsert(policyKey(key, 1))
  const cacheDir = join(folder, 'cache')
  const work = `
    const keyring = createKeyring(${JSON.stringify({ baseUrl: service.url, secretKey, projectId, cacheDir })})
    await keyring.ready()
    const codes = [keyring.verify(${JSON.stringify(key)}).code, keyring.verify('x').code, typeof requireKey(keyring)]
    await keyring.close()
    console.log(codes.join())`
  writeFileSync(
    join(folder, 'esm.mjs'),
    `import { createKeyring } from '@keyrail/sdk'\nimport { requireKey } from '@keyrail/sdk/express'\n${work}`,
  )
  writeFileSync(
    join(folder, 'cjs.cjs'),
    `const { createKeyring } = require('@keyrail/sdk')\nconst { requireKey } = require('@keyrail/sdk/express')
    void (async () => {${work}})()`,
  )
  try {
    for (const node of nodes) {
      for (const file of ['esm.mjs', 'cjs.cjs']) {
        const { stdout, stderr } = await run(node, [join(folder, file)], { env: {} })
        assert.equal(stdout.trim(), 'valid,malformed_key,function', `${node} ${file}: ${stderr}`)
        // The disk would be warned of here, if one Node could not read what another has written.
        assert.equal(stderr, '')
      }
    }
    assert.ok(readdirSync(cacheDir).length > 0)
  } finally {
    await service.close()
  }
})

test('both forms are one: an error of either is an instance of the same class', async () => {
  const program = join(folder, 'one.mjs')
  writeFileSync(
    program,
    `import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url)
    for (const entry of ['', '/admin', '/testing', '/next', '/worker']) {
      const [module, required] = [await import('@keyrail/sdk' + entry), require('@keyrail/sdk' + entry)]
      for (const name of Object.keys(module)) if (module[name] !== required[name]) throw new Error(name)
    }`,
  )
  for (const node of nodes) await run(node, [program], { env: {} })
})

test('the oldest Node loads the module, and is told by require which one is needed', async () => {
  const oldest = runtimePath('oldestNode')
  const program = join(folder, 'oldest.mjs')
  for (const entry of ['', '/admin', '/express', '/testing', '/worker']) {
    writeFileSync(program, `import '@keyrail/sdk${entry}'`)
    await run(oldest, [program], { env: {} })
    const required = run(oldest, ['-e', `require('@keyrail/sdk${entry}')`], { cwd: folder, env: {} })
    await assert.rejects(
      required,
      /require\(\) needs Node 20\.19, 22\.12 or later; import works from Node 20 on/,
    )
  }
})

test('a bundler for browsers finds an error in place of what holds a secret key', async () => {
  const program = join(folder, 'browser.mjs')
  for (const entry of ['', '/admin']) {
    writeFileSync(program, `await import('@keyrail/sdk${entry}')`)
    await assert.rejects(
      run(process.execPath, ['-C', 'browser', program], { env: {} }),
      /never be in a browser/,
    )
  }
})

/** Where a framework is named, and whether it is for its types alone. */
const frameworks: Record<string, RegExp> = {
  'express.d.ts': /^express$/,
  'fastify.d.ts': /^fastify$/,
  'hono.d.ts': /^hono$/,
  'nest.d.ts': /^@nestjs\/(?:common|core)$/,
  'nest.js': /^@nestjs\/(?:common|core)$/,
}

test('bundlers for workers find what works there, and no module of Node in it', async () => {
  const program = join(folder, 'worker.mjs')
  writeFileSync(
    program,
    `console.log(import.meta.resolve('@keyrail/sdk'), import.meta.resolve('@keyrail/sdk/worker'))`,
  )
  for (const condition of ['workerd', 'edge-light']) {
    const { stdout } = await run(process.execPath, ['-C', condition, '-C', 'browser', program], { env: {} })
    assert.match(stdout, /^\S+\/esm\/worker\.js \S+\/esm\/worker\.js$/m)
  }
  const reached = reachedFrom(join(home, 'dist', 'esm'), ['worker.js', 'next.js', 'hono.js', 'admin.js'])
  assert.ok(reached.length > 20 && reached.includes('store.js'))
  for (const name of reached) {
    assert.doesNotMatch(
      readFileSync(join(home, 'dist', 'esm', name), 'utf8'),
      /['"]node:[\w/]+['"]\s*$/m,
      name,
    )
  }
})

test('what a bundler for workers finds has every name that types promise', async () => {
  const program = join(folder, 'names.mjs')
  writeFileSync(
    program,
    `const [index, worker] = [await import('@keyrail/sdk'), await import('@keyrail/sdk/worker')]
    for (const name of Object.keys(index)) if (!(name in worker)) throw new Error(name)
    if (index.KeyringError !== worker.KeyringError) throw new Error('two classes')`,
  )
  await run(process.execPath, [program], { env: {} })
})

test('what is shipped imports nothing but Node, and each framework where it is served', () => {
  assert.ok(texts.length > 40)
  for (const { file, text } of texts) {
    for (const [, name = ''] of text.matchAll(/(?:from|require\(|import\()\s*['"]([^'"]+)['"]/g)) {
      const allowed = /^(?:node:|\.\/[\w-]+\.js$|\.\.\/esm\/[\w-]+\.js$)/.test(name)
      assert.ok(allowed || frameworks[basename(file)]?.test(name), `${file} imports ${name}`)
    }
  }
})

test('the whole package is smaller than 300 KB', () => {
  assert.ok(unpackedSize < 300_000, `${unpackedSize} bytes`)
})

test('publint and are-the-types-wrong find nothing to say against it', async () => {
  const { messages } = await publint({ pkgDir: home, strict: true })
  assert.deepEqual(messages, [])
  const wrong = join(modules, '.bin', 'attw')
  const { stdout } = await run(process.execPath, [wrong, tarball, '--format', 'json']).catch(error => error)
  const { analysis } = JSON.parse(stdout)
  assert.deepEqual(analysis.problems, [])
})

test('the shipped types compile in a strict project, as a module and as CommonJS, and mean something', async () => {
  mkdirSync(join(folder, 'node_modules', '@types'), { recursive: true })
  for (const name of [
    'node',
    'express',
    'express-serve-static-core',
    'body-parser',
    'connect',
    'http-errors',
    'qs',
    'range-parser',
    'send',
    'serve-static',
  ]) {
    symlinkSync(join(modules, '@types', name), join(folder, 'node_modules', '@types', name))
  }
  symlinkSync(join(modules, 'undici-types'), join(folder, 'node_modules', 'undici-types'))
  const program = `
    import { createKeyring, type RefusalCode, type Verdict } from '@keyrail/sdk'
    import { createAdmin, type Key } from '@keyrail/sdk/admin'
    import { idempotent, limit, requireKey, requireScope } from '@keyrail/sdk/express'
    import { withKey } from '@keyrail/sdk/next'
    import { createTestKeyring } from '@keyrail/sdk/testing'
    import type { Express } from 'express'
    export function protect(app: Express): void {
      const keyring = createKeyring({ baseUrl: '', secretKey: '', projectId: '', onError: error => void error.docUrl })
      app.get('/', requireKey(keyring, { scopes: ['a'] }), requireScope('b'), (request, response) => {
        response.json(request.apiKey?.tenantId)
      })
      const verdict: Verdict = keyring.verify('x')
      const text: string | RefusalCode = verdict.valid ? verdict.keyId : verdict.code
      // @ts-expect-error A verdict that was not looked at has no key id.
      verdict.keyId
      void text
    }
    export const GET = withKey(createTestKeyring(), (_request, { apiKey }) => Response.json(apiKey.keyId))
    export async function manage(): Promise<Key[]> {
      const admin = createAdmin({ baseUrl: '', secretKey: '' })
      const { key } = await admin.keys.create({ project_id: '', tenant_id: '', env: 'live' })
      const shown: string | undefined = key
      // @ts-expect-error There is no such environment.
      await admin.keys.create({ project_id: '', tenant_id: '', env: 'prod' })
      const keys: Key[] = []
      for await (const each of admin.keys.list({ limit: 10 })) keys.push(each)
      return shown === undefined ? [] : keys
    }
    void [idempotent, limit]`
  for (const extension of ['mts', 'cts']) writeFileSync(join(folder, `program.${extension}`), program)
  const options = {
    noEmit: true,
    strict: true,
    module: 'nodenext',
    target: 'es2022',
    types: ['node'],
    exactOptionalPropertyTypes: true,
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, files: ['program.mts', 'program.cts'] }),
  )
  const compiler = join(modules, 'typescript', 'bin', 'tsc')
  const { stdout } = await run(process.execPath, [compiler, '-p', folder]).catch(error => error)
  assert.equal(stdout, '')
})
