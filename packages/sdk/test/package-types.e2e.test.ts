import assert from 'node:assert/strict'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { installPacked, run } from './packed.ts'
import { installRuntimes, runtimesFolder } from './runtimes.ts'

/** The shipped types in a strict project without skipLibCheck, for each supported compiler. */

await installRuntimes()
const { folder } = await installPacked(tmpdir())
const modules = join(import.meta.dirname, '..', '..', '..', 'node_modules')
const ofRuntimes = join(runtimesFolder, 'node_modules')

const compilers = {
  'TypeScript 5.4': join(ofRuntimes, 'typescript5.4'),
  'TypeScript 5.6': join(ofRuntimes, 'typescript5.6'),
  'TypeScript 5.9': join(ofRuntimes, 'typescript'),
  'the TypeScript of this checkout': join(modules, 'typescript'),
}

const frameworks = ['@nestjs/common', '@nestjs/core', '@opentelemetry/api', 'fastify', 'hono']
const typesOnly = [
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
]
for (const name of [...frameworks, ...typesOnly.map(name => `@types/${name}`), 'undici-types']) {
  const at = join(folder, 'node_modules', name)
  mkdirSync(dirname(at), { recursive: true })
  assert.ok(existsSync(join(modules, name)), name)
  symlinkSync(join(modules, name), at)
}

const program = `
  import { createKeyrail, createKeyring, type HeldClaim, type Keyrail, KeyrailError, type KeyrailErrorCode, type RefusalCode, type Verdict } from '@keyrail/sdk'
  import { createAdmin, type Key } from '@keyrail/sdk/admin'
  import { apiKeyOf, idempotent, limit, requireKey, requireScope } from '@keyrail/sdk/express'
  import { apiKeyOf as apiKeyOfFastify, keyrailPlugin } from '@keyrail/sdk/fastify'
  import { type KeyrailEnv, requireKey as requireKeyOfHono } from '@keyrail/sdk/hono'
  import { KeyrailModule } from '@keyrail/sdk/nest'
  // @ts-expect-error Only the module makes a guard.
  import type { KeyrailGuard } from '@keyrail/sdk/nest'
  import { withKey } from '@keyrail/sdk/next'
  import { instrument } from '@keyrail/sdk/otel'
  import { createTestIdempotency, createTestKeyrail, createTestKeyring, createTestLimiter, createTestUsage } from '@keyrail/sdk/testing'
  import { withKey as withKeyOfWeb } from '@keyrail/sdk/web'
  import { createWorkerKeyring } from '@keyrail/sdk/worker'
  import type { Express } from 'express'
  import type { FastifyInstance } from 'fastify'
  export function protect(app: Express): void {
    const keyring = createKeyring({ url: '', secretKey: '', project: '', onError: error => void error.docUrl })
    app.get('/', requireKey(keyring, { scopes: ['a'] }), requireScope('b'), (request, response) => {
      response.json(request.apiKey?.tenantId ?? apiKeyOf(request).tenantId)
      // @ts-expect-error The member does not exist.
      response.json(request.apiKey?.tenant)
    })
    const verdict: Verdict = keyring.verify('x')
    const text: string | RefusalCode = verdict.valid ? verdict.keyId : verdict.code
    // @ts-expect-error An unchecked verdict has no key id.
    verdict.keyId
    void text
  }
  export async function protectFastify(app: FastifyInstance): Promise<void> {
    await app.register(keyrailPlugin, { keyring: createTestKeyring() })
    app.get('/', async request => apiKeyOfFastify(request).tenantId)
    // @ts-expect-error A route may be public, or its key optional.
    app.get('/', async request => request.apiKey.tenantId)
    // @ts-expect-error The member does not exist.
    app.get('/', async request => request.apiKey?.tenant)
  }
  export const GET = withKey(createTestKeyring(), (_request, { apiKey }) => Response.json(apiKey.keyId))
  export const fetchOf = withKeyOfWeb(createTestKeyring(), (_request, { apiKey }) => Response.json(apiKey.keyId))
  export async function open(): Promise<KeyrailErrorCode | null> {
    await using keyrail = createKeyrail({ url: '', secretKey: '', project: '', keys: { names: true }, admin: { maxRetries: 1 } })
    await keyrail.ready()
    // @ts-expect-error The connection is given once.
    createKeyrail({ keys: { secretKey: '' } })
    const known: Promise<Key> = keyrail.admin.keys.get('')
    void [known, requireKey(keyrail, { limiter: keyrail, usage: keyrail }), limit(keyrail), idempotent(keyrail.idempotency)]
    return keyrail.keys.stats().lastError
  }
  export const codeOf = (error: unknown): KeyrailErrorCode => (error instanceof KeyrailError ? error.code : 'unknown')
  export async function manage(): Promise<Key[]> {
    const admin = createAdmin({ url: '', secretKey: '' })
    const { key } = await admin.keys.create({ projectId: '', tenantId: '', env: 'live' })
    const shown: string | undefined = key
    // @ts-expect-error The environment does not exist.
    await admin.keys.create({ projectId: '', tenantId: '', env: 'prod' })
    // @ts-expect-error Names are in camelCase.
    admin.keys.list({ tenant_id: '' })
    const meta: unknown = (await admin.tenants.get('')).meta.any_name
    void [meta, (await admin.auditLogs.list().page()).data[0]?.payload?.external_id]
    const keys: Key[] = []
    for await (const each of admin.keys.list({ limit: 10 })) keys.push(each)
    return shown === undefined ? [] : keys
  }
  export async function tested(): Promise<number | undefined> {
    const keyring = createTestKeyring()
    // @ts-expect-error A test double has its own service.
    createTestIdempotency({ url: '' }).close()
    const [limiter, usage] = [createTestLimiter({ onUnavailable: 'allow' }), createTestUsage()]
    requireKey(keyring, { limiter, usage })
    idempotent(createTestIdempotency())
    limiter.advance(1_000)
    return (await usage.reported())['']
  }
  export function measured(app: Express): void {
    const keyring = createKeyring()
    const { onVerdict } = instrument({ keyring })
    app.use(requireKey(keyring, { onVerdict }))
    const whole: Keyrail = createTestKeyrail({ keys: { names: true } })
    instrument({ keyring: whole })
  }
  /** A claim is an interface that tests may implement. */
  export const claim: HeldClaim = {
    taken: new AbortController().signal,
    settled: Promise.resolve(),
    answered: async () => {},
    release: async () => {},
    leave() {},
  }
  export const tenant = (variables: KeyrailEnv['Variables']): string => variables.apiKey.tenantId
  void [idempotent, limit, requireKeyOfHono, KeyrailModule, createWorkerKeyring]`

/** Imports of frameworks that are only ES modules, which only a module can use. */
const asModule = `
  import { Hono } from 'hono'
  import { Module } from '@nestjs/common'
  new Hono().use(requireKeyOfHono(createTestKeyring())).get('/', c => {
    const key = c.get('apiKey')
    // @ts-expect-error The member does not exist.
    void key.tenant
    return c.text(key.tenantId)
  })
  void Module({ imports: [KeyrailModule.forRoot({ keyring: createTestKeyring() })] })`

// The oldest and the newest compiler try both: to those between them, `nodenext` means what one of these two takes it for.
for (const [name, compiler] of Object.entries(compilers))
  for (const module of name.endsWith('5.6') || name.endsWith('5.9') ? ['nodenext'] : ['node16', 'nodenext'])
    test(`${name}, module ${module}: the types are the same as module and as CommonJS`, async () => {
      const home = join(folder, `${module} ${name}`)
      mkdirSync(home)
      const files = { 'program.mts': program + asModule, 'program.cts': program }
      for (const [file, text] of Object.entries(files)) writeFileSync(join(home, file), text)
      const compilerOptions = {
        noEmit: true,
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        module,
        target: 'es2022',
        types: ['node'],
      }
      const project = JSON.stringify({ compilerOptions, files: Object.keys(files) })
      writeFileSync(join(home, 'tsconfig.json'), project)
      const command = [join(compiler, 'bin', 'tsc'), '-p', home, '--pretty', 'false']
      const { stdout } = await run(process.execPath, command, { cwd: folder }).catch(error => error)
      // Old compilers may not read the types of frameworks, which are outside of the folder.
      const complaints = stdout
        .split('\n')
        .filter((line: string) => /^\S/.test(line) && !line.startsWith('../'))
      assert.deepEqual(complaints, [])
    })
