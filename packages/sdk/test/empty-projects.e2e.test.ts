import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { serveBy } from './child.ts'
import { documented, inFunction } from './documented.ts'
import { compileProject, type EmptyProject } from './empty-projects.ts'
import { drawKey } from './keys.ts'
import { startKeyrail } from './service.ts'

/**
 * Does what a reader does in an empty project: installs the archive beside a framework, and writes the code of the README
 * and `docs/sdk`, as module and as CommonJS. Compiles it as strictly as possible, and sends requests to what serves.
 */

const kinds = { module: 'm', CommonJS: 'c' } as const
const express5 = { express: 'express', '@types/express': '@types/express' }
const nest = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  'reflect-metadata',
  'rxjs',
] as const
const onHono = { hono: 'hono', '@hono/node-server': '@hono/node-server' }

/** Names in the pages that the reader defines. */
const settings = `const { KEYRAIL_URL: url = '', KEYRAIL_SECRET_KEY: secretKey = '', KEYRAIL_PROJECT: project = '' } = process.env`
const announce = `function announce(server: import('node:net').Server): void {
  const at = server.address()
  if (at !== null && typeof at === 'object') console.log('http://127.0.0.1:' + at.port)
}`
const keyrail = `import { createKeyrail } from '@keyrail/sdk'
const keyrail = createKeyrail({ url, secretKey, project })
await keyrail.ready()`

interface Start {
  name: string
  page: string
  heading: string
  beside: Readonly<Record<string, string>>
  before: string
  after: string
}

/** Appended to any code for Express. */
const expressRoute = (app: string) => `
  ${app}.get('/', (request, response) => { response.json({ customer: request.apiKey?.externalId }) })
  const server = ${app}.listen(0, '127.0.0.1', () => announce(server))`

/** A program with the code of a page, and the routes that it protects. */
const onExpress = (page: string, heading: string): Start => ({
  name: heading,
  page: `docs/sdk/${page}.md`,
  heading,
  beside: express5,
  before: `import express from 'express'\nconst app = express()`,
  after: `await keyrail.ready()\n${expressRoute('app')}`,
})

/** The page whose code accepts the keys of another system too, and a customer that still sends one. */
const fromElsewhere = 'Keys from another system'
const oldCustomer = { tenantId: randomUUID(), externalId: 'org_before' }

const readme = 'packages/sdk/README.md'
const frameworks = 'docs/sdk/frameworks.md'
/** The page on addresses of callers. */
const addresses = 'client-address'
const protectAnApi = {
  page: readme,
  heading: 'Protect an API',
  before: '',
  after: expressRoute('api'),
}

const starts: readonly Start[] = [
  { name: 'Express 5', ...protectAnApi, beside: express5 },
  // The types of Express 4 are not installed; those of 5 have everything that is used here.
  { name: 'Express 4', ...protectAnApi, beside: { ...express5, express: 'express4' } },
  {
    name: 'Fastify',
    page: frameworks,
    heading: 'Fastify',
    beside: { fastify: 'fastify' },
    before: `import fastify from 'fastify'\nimport { apiKeyOf } from '@keyrail/sdk/fastify'\nconst app = fastify()`,
    after: `app.get('/', async request => ({ customer: apiKeyOf(request).externalId }))
      await app.listen({ port: 0, host: '127.0.0.1' })
      announce(app.server)`,
  },
  {
    name: 'Hono',
    page: frameworks,
    heading: 'Hono',
    beside: onHono,
    before: `import { serve } from '@hono/node-server'\nimport { Hono } from 'hono'\nconst app = new Hono<KeyrailEnv>()`,
    after: `app.get('/', context => context.json({ customer: context.get('apiKey').externalId }))
      const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => announce(server as import('node:net').Server))`,
  },
  {
    name: 'Next',
    page: frameworks,
    heading: 'Next',
    beside: onHono,
    before: `import { serve } from '@hono/node-server'`,
    // What Next requires of a route handler.
    after: `const handler: (request: Request, context: { params: Promise<object> }) => Response | Promise<Response> = GET
      const context = { params: Promise.resolve({}) }
      const fetch = (request: Request) => handler(request, context)
      const server = serve({ fetch, port: 0, hostname: '127.0.0.1' }, () => announce(server as import('node:net').Server))`,
  },
  {
    name: 'Fetch',
    page: frameworks,
    heading: 'Bun, Deno and other Fetch handlers',
    beside: onHono,
    before: `import { serve } from '@hono/node-server'`,
    after: `const server = serve({ fetch: request => fetch(request), port: 0, hostname: '127.0.0.1' }, () => announce(server as import('node:net').Server))`,
  },
  {
    name: 'NestJS',
    page: frameworks,
    heading: 'NestJS',
    beside: Object.fromEntries(nest.map(name => [name, name])),
    before: `import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Valid } from '@keyrail/sdk'
import { ApiKey } from '@keyrail/sdk/nest'
@Controller()
class PaymentsController {
  @Get()
  list(@ApiKey() key: Valid) {
    return { customer: key.externalId }
  }
}`,
    after: `const nest = await NestFactory.create(AppModule, { logger: false })
      await nest.listen(0, '127.0.0.1')
      announce(nest.getHttpServer())`,
  },
  {
    name: 'no framework',
    page: 'docs/sdk/verify-keys.md',
    heading: 'Verify keys',
    beside: {},
    before: `import { createServer } from 'node:http'
${keyrail}
const server = createServer((request, response) => {
  const key = request.headers.authorization?.slice('Bearer '.length)
  const use = (customer: string | undefined, ..._more: unknown[]) => response.end(JSON.stringify({ customer }))
  const refuse = (code: string, message: string) => response.writeHead(401).end(code + message)`,
    after: `})
      server.listen(0, '127.0.0.1', () => announce(server))`,
  },
  {
    name: 'a gate',
    page: frameworks,
    heading: 'Without a framework',
    beside: {},
    before: '',
    after: `server.listen(0, '127.0.0.1', () => announce(server))`,
  },
  onExpress('frameworks', 'Express'),
  onExpress(addresses, 'With Express'),
  {
    name: 'With Fastify',
    page: `docs/sdk/${addresses}.md`,
    heading: 'With Fastify',
    beside: { fastify: 'fastify' },
    before: `import { apiKeyOf } from '@keyrail/sdk/fastify'`,
    after: `await keyrail.ready()
      app.get('/', async request => ({ customer: apiKeyOf(request).externalId }))
      await app.listen({ port: 0, host: '127.0.0.1' })
      announce(app.server)`,
  },
  {
    name: 'With Hono',
    page: `docs/sdk/${addresses}.md`,
    heading: 'With Hono',
    beside: onHono,
    before: `import { serve } from '@hono/node-server'\nimport { Hono } from 'hono'\nconst app = new Hono<KeyrailEnv>()`,
    after: `await keyrail.ready()
      app.get('/', context => context.json({ customer: context.get('apiKey').externalId }))
      const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => announce(server as import('node:net').Server))`,
  },
  {
    name: 'With Next',
    page: `docs/sdk/${addresses}.md`,
    heading: 'With Next',
    beside: onHono,
    before: `import { serve } from '@hono/node-server'`,
    after: `const server = serve({ fetch: request => GET(request), port: 0, hostname: '127.0.0.1' }, () => announce(server as import('node:net').Server))`,
  },
  {
    ...onExpress('verify-keys', fromElsewhere),
    before: `import express from 'express'
import type { Valid } from '@keyrail/sdk'
const app = express()
const customer = ${JSON.stringify(oldCustomer)}
const findOldKey = async (key: string): Promise<Valid | undefined> =>
  key === 'old-17'
    ? { valid: true, code: 'valid', keyId: '17', ...customer, env: 'live', scopes: [], expiresAt: null }
    : undefined`,
  },
  onExpress('limits', 'Limits'),
  onExpress('idempotency', 'Doing a request once'),
  onExpress('usage', 'Usage'),
  {
    ...onExpress('deployment', 'Metrics and traces'),
    beside: { ...express5, '@opentelemetry/api': '@opentelemetry/api' },
    before: `import express from 'express'\n${keyrail}\nconst { limiter, usage } = keyrail\nconst api = express()`,
    after: expressRoute('api'),
  },
]

/** Code that serves nothing, with the declarations before it. */
const others: readonly { page: string; heading: string; before: string }[] = [
  { page: 'docs/sdk/admin.md', heading: 'Managing keys', before: `const [projectId, tenantId] = ['', '']` },
  { page: 'docs/sdk/deployment.md', heading: 'A copy on disk', before: '' },
  {
    page: 'docs/sdk/limits.md',
    heading: 'Fewer calls',
    before: `import { createKeyrail } from '@keyrail/sdk'`,
  },
  {
    page: 'docs/sdk/testing.md',
    heading: 'Testing your API',
    before: 'const startApi = async (parts: object) => parts',
  },
  { page: 'docs/sdk/workers.md', heading: 'Workers', before: '' },
]
/** The part of `wrangler types` that the page uses. */
const workerTypes = `declare module 'cloudflare:workers' {
  export const env: { KEYRAIL_URL: string; KEYRAIL_SECRET_KEY: string; KEYRAIL_PROJECT: string }
}
interface ExportedHandler {
  fetch?(request: Request, env: unknown, context: { waitUntil(work: Promise<unknown>): void }): Promise<Response>
}`

const { settings: given, issue, vendor, service } = await startKeyrail()
const { body: tenant } = await service.ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })
const { key } = await issue({ scopes: ['orders:read'] })
const env = {
  KEYRAIL_URL: given.url,
  KEYRAIL_SECRET_KEY: given.secretKey,
  KEYRAIL_PROJECT: given.project,
}

const isAt = (page: string, heading: string) => (block: { page: string; heading: string }) =>
  block.page === page && block.heading === heading
const codeAt = (page: string, heading: string): string =>
  documented.find(isAt(page, heading))?.code ?? assert.fail(`${page} has no code below "${heading}"`)

/** A program of each kind. Code with `await` must be in a function, and code with exports cannot be. */
function programsOf(name: string, lines: readonly string[]): [file: string, text: string][] {
  const code = lines.join('\n')
  const waits = /^(?:const .*= |for )?await /m.test(code)
  return [
    [`${name}.mts`, code],
    [`${name}.cts`, waits ? inFunction(code) : code],
  ]
}

const slug = (name: string) => name.toLowerCase().replaceAll(' ', '-')

/** Programs with the same packages are compiled together, once. */
const projects = new Map<string, Promise<EmptyProject>>()
function projectOf(beside: Start['beside']): Promise<EmptyProject> {
  const packages = JSON.stringify(beside)
  const alike = starts.filter(start => JSON.stringify(start.beside) === packages)
  const programs = alike.flatMap(({ name, page, heading, before, after }) =>
    programsOf(slug(name), [settings, announce, before, codeAt(page, heading), after]),
  )
  const project = projects.get(packages) ?? compileProject(beside, Object.fromEntries(programs))
  projects.set(packages, project)
  return project
}

test('every code block of the pages is in a project of this file', () => {
  const tried = [...starts, ...others]
  for (const block of documented)
    assert.ok(tried.some(isAt(block.page, block.heading)), `${block.page}: ${block.heading}`)
})

for (const [kind, letter] of Object.entries(kinds))
  for (const { name, heading, beside } of starts)
    test(`${name}, as ${kind}: "${heading}" compiles, and lets in only valid keys`, async () => {
      const { folder, complaints } = await projectOf(beside)
      assert.deepEqual(complaints, [])
      const program = join('dist', `${slug(name)}.${letter}js`)
      const { url, child } = await serveBy(process.execPath, [program], { cwd: folder, env })
      const ask = (presented: string) => fetch(url, { headers: { authorization: `Bearer ${presented}` } })
      const [wrong, right] = [await ask(drawKey()), await ask(key)]
      assert.deepEqual([wrong.status, right.status], [401, 200])
      assert.deepEqual(await right.json(), { customer: tenant.external_id })
      child.kill()
    })

test('beside keys of another system, an old key passes and a wrong one does not', async () => {
  const { folder, complaints } = await projectOf(express5)
  assert.deepEqual(complaints, [])
  const program = join('dist', `${slug(fromElsewhere)}.mjs`)
  const { url, child } = await serveBy(process.execPath, [program], { cwd: folder, env })
  const ask = (authorization?: string) =>
    fetch(url, { headers: authorization === undefined ? {} : { authorization } })
  const old = await ask('Bearer old-17')
  assert.deepEqual([old.status, await old.json()], [200, { customer: oldCustomer.externalId }])
  for (const wrong of [undefined, 'old-17', 'Bearer old-18', `Bearer ${drawKey()}`])
    assert.equal((await ask(wrong)).status, 401, wrong)
  child.kill()
})

test('code that serves nothing compiles, as module and as CommonJS', async () => {
  const programs = others.flatMap(({ page, heading, before }) => {
    // A worker is a module that exports its handler.
    const isWorker = heading === 'Workers'
    const lines = [isWorker ? '' : settings, before, codeAt(page, heading)]
    return programsOf(slug(heading), lines).slice(0, isWorker ? 1 : 2)
  })
  const files = { ...Object.fromEntries(programs), 'types.d.ts': workerTypes }
  assert.deepEqual((await compileProject({}, files)).complaints, [])
})
