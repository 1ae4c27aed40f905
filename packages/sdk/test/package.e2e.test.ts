import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { publint } from 'publint'
import { bundle } from './bundled.ts'
import { project, secretKey, startFeedService } from './feed-service.ts'
import { drawKey, policyKey } from './keys.ts'
import { installPacked, run } from './packed.ts'
import { installRuntimes, runtimePath } from './runtimes.ts'
import { reachedFrom } from './workerd.ts'

/** The package installed from its archive, in a folder outside of this checkout. */

await installRuntimes()
const source = join(import.meta.dirname, '..')
const { folder, home, tarball, files } = await installPacked(tmpdir())

const modules = join(source, '..', '..', 'node_modules')
const texts = globSync('dist/**/*', { cwd: home })
  .filter(file => /\.(?:js|d\.ts)$/.test(file))
  .map(file => ({ file, text: readFileSync(join(home, file), 'utf8') }))

/** Every supported Node. */
const nodes = [process.execPath, ...(['oldestNode', 'node20', 'node22'] as const).map(runtimePath)]
/** Entries that load without a framework. */
const entries = ['', '/admin', '/express', '/fastify', '/hono', '/next', '/testing', '/web', '/worker']

test('both forms load keys from a service and verify them, on every Node', async () => {
  const service = await startFeedService()
  const key = drawKey()
  service.upsert(policyKey(key, 1))
  const cacheDir = join(folder, 'cache')
  const work = `
    const keyring = createKeyring(${JSON.stringify({ url: service.url, secretKey, project, cacheDir })})
    await keyring.ready()
    const codes = [keyring.verify(${JSON.stringify(key)}).code, keyring.verify('no key').code, typeof requireKey(keyring)]
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
        // A warning would show here if one Node could not read another's file.
        assert.equal(stderr, '')
      }
    }
    assert.ok(readdirSync(cacheDir).length > 0)
  } finally {
    await service.close()
  }
})

test('import and require return the same objects', async () => {
  const program = join(folder, 'one.mjs')
  writeFileSync(
    program,
    `import assert from 'node:assert/strict'
    import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url)
    for (const entry of ${JSON.stringify(entries)}) {
      const [module, required] = [await import('@keyrail/sdk' + entry), require('@keyrail/sdk' + entry)]
      assert.deepEqual(Object.keys(module), Object.keys(required).sort())
      for (const name of Object.keys(module)) assert.equal(module[name], required[name], name)
    }`,
  )
  for (const node of nodes) await run(node, [program], { env: {} })
})

test('an error of one installed copy is an instance of another copy’s class', async () => {
  const program = join(folder, 'copies.cjs')
  writeFileSync(
    program,
    `const assert = require('node:assert/strict')
    const first = require('@keyrail/sdk')
    for (const file of Object.keys(require.cache)) delete require.cache[file]
    const forms = [first, require('@keyrail/sdk')]
    assert.notEqual(forms[0].KeyrailError, forms[1].KeyrailError)
    for (const made of forms) {
      const error = new made.KeyrailError('code', 'message', { retryable: true })
      const tooLarge = new made.PolicyScopeTooLargeError({ refusedToStart: true, maxKeys: 1 })
      for (const { KeyrailError, PolicyScopeTooLargeError } of forms) {
        assert.ok(error instanceof KeyrailError && tooLarge instanceof KeyrailError)
        assert.ok(tooLarge instanceof PolicyScopeTooLargeError && !(error instanceof PolicyScopeTooLargeError))
        for (const other of [new Error('x'), {}, null, undefined, 'x', Object.create(null)])
          assert.ok(!(other instanceof KeyrailError))
        class Derived extends KeyrailError {}
        assert.ok(!(error instanceof Derived))
        assert.ok(new Derived('code', 'message', {}) instanceof Derived)
        assert.ok(new Derived('code', 'message', {}) instanceof made.KeyrailError)
      }
      assert.deepEqual(Object.keys(error), Object.keys(tooLarge).slice(0, -2))
    }`,
  )
  for (const node of nodes) await run(node, [program], { env: {} })
})

test('a server bundled into one ES module starts, although it has no require', async () => {
  const program = join(folder, 'server.mjs')
  writeFileSync(
    program,
    `import { createKeyring } from '@keyrail/sdk'
    import { createTestKeyring, createTestUsage } from '@keyrail/sdk/testing'
    createTestUsage().count(createTestKeyring().issue())
    try {
      createKeyring({})
    } catch (error) {
      console.log(error.name)
    }`,
  )
  const bundled = join(folder, 'bundled')
  await bundle({ entries: { server: program }, into: bundled, conditions: ['import'] })
  writeFileSync(join(bundled, 'package.json'), '{ "type": "module" }')
  // The oldest has no way to ask for a module of Node by its name.
  for (const node of nodes) {
    const { stdout } = await run(node, [join(bundled, 'server.js')], { env: {} })
    assert.equal(stdout.trim(), 'TypeError')
  }
})

test('Nest, which is an ES module, runs with the package on every Node', async () => {
  const program = join(folder, 'nest.mjs')
  for (const name of ['@nestjs', 'reflect-metadata', 'rxjs', 'tslib'])
    if (!existsSync(join(folder, 'node_modules', name)))
      symlinkSync(join(modules, name), join(folder, 'node_modules', name))
  writeFileSync(
    program,
    `import 'reflect-metadata'
    import { Module } from '@nestjs/common'
    import { APP_GUARD, NestFactory } from '@nestjs/core'
    import { KeyrailModule } from '@keyrail/sdk/nest'
    import { createTestKeyring } from '@keyrail/sdk/testing'
    class AppModule {}
    Module({ imports: [KeyrailModule.forRoot({ keyring: createTestKeyring() })] })(AppModule)
    const application = await NestFactory.createApplicationContext(AppModule, { logger: false })
    await application.close()
    console.log(APP_GUARD)`,
  )
  for (const node of nodes) {
    const { stdout } = await run(node, [program], { env: {} })
    assert.equal(stdout.trim(), 'APP_GUARD', node)
  }
})

test('a browser bundle throws, because it would hold a secret key', async () => {
  const program = join(folder, 'browser.mjs')
  for (const entry of ['', '/admin']) {
    writeFileSync(program, `await import('@keyrail/sdk${entry}')`)
    await assert.rejects(
      run(process.execPath, ['-C', 'browser', program], { env: {} }),
      /never be in a browser/,
    )
  }
})

/** Imports of frameworks, and whether they are only for types. */
const frameworks: Record<string, RegExp> = {
  'express.d.ts': /^express$/,
  'fastify.d.ts': /^fastify$/,
  'hono.d.ts': /^hono$/,
  'nest.d.ts': /^@nestjs\/(?:common|core)$/,
  'nest.js': /^@nestjs\/(?:common|core)$/,
  'peers.js': /^@nestjs\/(?:common|core)$/,
  'otel.d.ts': /^@opentelemetry\/api$/,
  'otel.js': /^@opentelemetry\/api$/,
}

test('a worker bundle contains no module of Node', async () => {
  const program = join(folder, 'worker.mjs')
  writeFileSync(
    program,
    `console.log(import.meta.resolve('@keyrail/sdk'), import.meta.resolve('@keyrail/sdk/worker'), import.meta.resolve('@keyrail/sdk/web'))`,
  )
  for (const condition of ['workerd', 'edge-light']) {
    const { stdout } = await run(process.execPath, ['-C', condition, '-C', 'browser', program], { env: {} })
    assert.match(stdout, /^\S+\/esm\/worker\.js \S+\/esm\/worker\.js \S+\/esm\/web\.js$/m)
  }
  const ofNode = /(?:from|import|import\(|require\(|getBuiltinModule\?\.\()\s*['"`]node:/
  assert.match(readFileSync(join(home, 'dist', 'cjs', 'index.js'), 'utf8'), ofNode)
  const reached = reachedFrom(join(home, 'dist', 'esm'), [
    'worker.js',
    'web.js',
    'next.js',
    'hono.js',
    'admin.js',
  ])
  assert.ok(reached.length > 10 && reached.includes('../cjs/core.js'), reached.join())
  for (const name of reached)
    assert.doesNotMatch(readFileSync(join(home, 'dist', 'esm', name), 'utf8'), ofNode, name)
})

test('the worker entry has every name that the types have', async () => {
  const program = join(folder, 'names.mjs')
  writeFileSync(
    program,
    `const [index, worker] = [await import('@keyrail/sdk'), await import('@keyrail/sdk/worker')]
    for (const name of Object.keys(index)) if (!(name in worker)) throw new Error(name)
    if (index.KeyrailError !== worker.KeyrailError) throw new Error('two classes')`,
  )
  await run(process.execPath, [program], { env: {} })
})

/** The ES modules re-export code and types of CommonJS. */
const isDoor = (file: string, name: string): boolean =>
  file.startsWith('dist/esm/') && name === `../cjs/${basename(file).replace(/\.(?:d\.ts|js)$/, '')}.js`

test('the package imports only Node, and each framework in its entry', () => {
  assert.ok(texts.length > 40)
  for (const { file, text } of texts) {
    for (const [, name = ''] of text.matchAll(
      /(?:from|(?<!["\w:/])import|require\(|import\()\s*['"`]([^'"`\n]+)['"`]/g,
    )) {
      const allowed = /^(?:node:|\.\/[\w-]+\.js$)/.test(name) || isDoor(file, name)
      assert.ok(allowed || frameworks[basename(file)]?.test(name), `${file} imports ${name}`)
    }
  }
})

test('the package without its source maps is smaller than 464 KiB', () => {
  const counted = files.filter(({ path }) => !path.endsWith('.map'))
  const size = counted.reduce((sum, file) => sum + file.size, 0)
  assert.ok(counted.length > 40 && size < 464 * 1_024, `${size} bytes`)
})

test('a build and `npm pack` ship only code, types, maps, the README and the licence', async () => {
  await run('npm', ['run', 'build'], { cwd: source })
  const args = ['pack', '--json', '--pack-destination', folder]
  const { stdout } = await run('npm', args, { cwd: source })
  const [archive] = JSON.parse(
    stdout.slice(stdout.lastIndexOf('\n[') + 1),
  ) as (typeof files)[0][] as unknown as {
    files: typeof files
  }[]
  const packed = archive?.files.map(({ path }) => path)
  assert.deepEqual(
    packed,
    files.map(({ path }) => path),
  )
  for (const path of packed ?? [])
    assert.match(
      path,
      /^(?:dist\/(?:cjs|esm)\/[\w-]+\.(?:js|js\.map|d\.ts|json)|LICENSE|README\.md|package\.json)$/,
    )
  const licence = (at: string) => readFileSync(join(at, 'LICENSE'), 'utf8')
  assert.equal(licence(home), licence(join(source, '..', '..')))
})

test('the shipped code keeps the names and lines of the sources, and maps lead to them', async () => {
  const verify = readFileSync(join(home, 'dist', 'cjs', 'core.js'), 'utf8')
  assert.match(verify, /^function createVerify\(/m)
  const code = texts.filter(({ file }) => /^dist\/cjs\/.*\.js$/.test(file))
  for (const { file, text } of code) {
    assert.ok(text.split('\n').length > text.length / 100, `${file} has lines`)
    assert.doesNotMatch(text, /\bget: function/, `${file} exports plain values`)
    // A module that only re-exports contains no source.
    if (
      /^(?:(?:const \w+ = require\(|exports\.|Object\.defineProperty\(exports|"use strict").*\n?|\n)+$/.test(
        text,
      )
    )
      continue
    const map = JSON.parse(readFileSync(join(home, `${file}.map`), 'utf8'))
    assert.ok(text.trimEnd().endsWith(`//# sourceMappingURL=${basename(file)}.map`), file)
    assert.equal(map.sources.length, map.sourcesContent.length)
    for (const path of map.sources) assert.match(path, /^keyrail-sdk:\/\/\/src\//)
  }
  const program = join(folder, 'mistake.mjs')
  writeFileSync(program, `import { createKeyring } from '@keyrail/sdk'\ncreateKeyring({ wrong: 1 })`)
  const result = await run(process.execPath, ['--enable-source-maps', program], { env: {} }).catch(
    error => error,
  )
  assert.match(result.stderr, /src\/keyring\/keyring\.ts:\d+/)
})

test('publint and are-the-types-wrong find no fault', async () => {
  const { messages } = await publint({ pkgDir: home, strict: true })
  assert.deepEqual(messages, [])
  const wrong = join(modules, '.bin', 'attw')
  const { stdout } = await run(process.execPath, [wrong, tarball, '--format', 'json']).catch(error => error)
  const { analysis } = JSON.parse(stdout)
  assert.deepEqual(analysis.problems, [])
})
