import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { build } from '../build.ts'
import { projectId, secretKey, startFeedService } from './feed-service.ts'
import { drawKey, policyKey } from './keys.ts'

/** The package as it would be installed, in a folder that knows nothing of this checkout. */

const run = promisify(execFile)
const source = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'keyrail-sdk-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const home = join(folder, 'node_modules', '@keyrail', 'sdk')
mkdirSync(home, { recursive: true })
cpSync(join(source, 'package.json'), join(home, 'package.json'))
await build(join(home, 'dist'))

const modules = join(source, '..', '..', 'node_modules')
const texts = globSync('dist/**/*', { cwd: home })
  .filter(file => /\.(?:js|d\.ts)$/.test(file))
  .map(file => ({ file, text: readFileSync(join(home, file), 'utf8') }))

/** Every Node on the path that the package is made for, and the one that runs this. */
async function nodes(): Promise<string[]> {
  const found = new Set([process.execPath])
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const candidate = join(directory, 'node')
    const version = await run(candidate, ['-p', 'process.versions.node']).catch(() => undefined)
    const [major = 0, minor = 0] = version?.stdout.split('.').map(Number) ?? []
    if (major > 20 || (major === 20 && minor >= 4)) found.add(candidate)
  }
  return [...found]
}

test('both forms load, take keys from a service and verify them, on every Node at hand', async () => {
  const service = await startFeedService()
  const key = drawKey()
  service.upsert(policyKey(key, 1))
  const work = `
    const keyring = createKeyring(${JSON.stringify({ baseUrl: service.url, secretKey, projectId })})
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
    for (const node of await nodes()) {
      for (const file of ['esm.mjs', 'cjs.cjs']) {
        const { stdout, stderr } = await run(node, [join(folder, file)], { env: {} })
        assert.equal(stdout.trim(), 'valid,malformed_key,function', `${node} ${file}: ${stderr}`)
        assert.equal(stderr, '')
      }
    }
  } finally {
    await service.close()
  }
})

test('what is shipped imports nothing but Node, and Express for its types', () => {
  assert.ok(texts.length > 40)
  for (const { file, text } of texts) {
    for (const [, name = ''] of text.matchAll(/(?:from|require\(|import\()\s*['"]([^'"]+)['"]/g)) {
      const allowed =
        /^(?:node:|\.\/[\w-]+\.js$)/.test(name) || (name === 'express' && file.endsWith('express.d.ts'))
      assert.ok(allowed, `${file} imports ${name}`)
    }
  }
})

test('the whole package is smaller than 300 KB', () => {
  const bytes = texts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  assert.ok(bytes < 300_000, `${bytes} bytes`)
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
    import { requireKey, requireScope } from '@keyrail/sdk/express'
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
    }`
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
