import { randomUUID } from 'node:crypto'

/** How the code of the pages starts in an empty project: what is beside it, and what is before and after it. */

export const express5 = { express: 'express', '@types/express': '@types/express' }
const nest = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  'reflect-metadata',
  'rxjs',
] as const
const onHono = { hono: 'hono', '@hono/node-server': '@hono/node-server' }

/** Names in the pages that the reader defines. */
export const settings = `const { KEYRAIL_URL: url = '', KEYRAIL_SECRET_KEY: secretKey = '', KEYRAIL_PROJECT: project = '' } = process.env`
export const announce = `function announce(server: import('node:net').Server): void {
  const at = server.address()
  if (at !== null && typeof at === 'object') console.log('http://127.0.0.1:' + at.port)
}`
const keyrail = `import { createKeyrail } from '@keyrail/sdk'
const keyrail = createKeyrail({ url, secretKey, project })
await keyrail.ready()`

export interface Start {
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
export const fromElsewhere = 'Keys from another system'
export const oldCustomer = { tenantId: randomUUID(), externalId: 'org_before' }

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

export const starts: readonly Start[] = [
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
export const others: readonly { page: string; heading: string; before: string }[] = [
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
  {
    page: 'docs/sdk/migrating.md',
    heading: 'Your own check',
    before: `const findByOldKey = async (key: string) => (key === 'old' ? { id: 'acme', scopes: ['a'] } : undefined)`,
  },
  {
    page: 'docs/sdk/migrating.md',
    heading: 'Shadow',
    before: `const oldCheck = async (key: string) => key === 'old'`,
  },
  { page: 'docs/sdk/workers.md', heading: 'Workers', before: '' },
]
