import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { idempotencyOptionNames } from '../src/idempotency/idempotent.ts'
import { limiterOptionNames } from '../src/limits/limit.ts'
import { createTestKeyring } from '../src/testing.ts'
import { usageReporterOptionNames } from '../src/usage/reporter-options.ts'
import { startKeyrail } from './service.ts'

/** The quick starts of the README and of `docs/sdk`, each run unchanged in an app, with the real service. */

const root = join(import.meta.dirname, '..', '..', '..')
const pages = ['packages/sdk/README.md', ...globSync('docs/sdk/*.md', { cwd: root })]
const readme = pages.map(page => readFileSync(join(root, page), 'utf8')).join('\n')
const section = (heading: string) =>
  readme.split(`${heading}\n`)[1]?.split(/^##+ /m)[0] ?? assert.fail(heading)
const codeOf = (text: string) => /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? assert.fail('no code')

/** The reader's own code: an app before, a route and a port after. */
const around: { heading: string; before: string; after: string }[] = [
  {
    heading: '## Protect an API',
    before: '',
    after: `api.get('/', (request, response) => response.json({ customer: request.apiKey.externalId }))
      const server = api.listen(0, () => console.log(server.address().port))`,
  },
  {
    heading: '## Express',
    before: `import express from 'express'\nconst app = express()`,
    after: `app.get('/', (request, response) => response.json({ customer: request.apiKey.externalId }))
      const server = app.listen(0, () => console.log(server.address().port))`,
  },
  {
    heading: '## Fastify',
    before: `import fastify from 'fastify'\nconst app = fastify()`,
    after: `app.get('/', async request => ({ customer: request.apiKey.externalId }))
      await app.listen({ port: 0 })
      console.log(app.server.address().port)`,
  },
  {
    heading: '## Hono',
    before: `import { serve } from '@hono/node-server'\nimport { Hono } from 'hono'\nconst app = new Hono<KeyrailEnv>()`,
    after: `app.get('/', context => context.json({ customer: context.get('apiKey').externalId }))
      serve({ fetch: app.fetch, port: 0 }, ({ port }) => console.log(port))`,
  },
  {
    heading: '## Next',
    before: `import { serve } from '@hono/node-server'`,
    after: `serve({ fetch: request => GET(request), port: 0 }, ({ port }) => console.log(port))`,
  },
  {
    heading: '## Bun, Deno and other Fetch handlers',
    before: `import { serve } from '@hono/node-server'`,
    after: `serve({ fetch, port: 0 }, ({ port }) => console.log(port))`,
  },
  {
    heading: '## NestJS',
    before: `import 'reflect-metadata'
      import { Controller, Get, Module } from '@nestjs/common'
      import { NestFactory } from '@nestjs/core'
      import { ApiKey } from '@keyrail/sdk/nest'
      @Controller()
      class PaymentsController {
        @Get()
        list(@ApiKey() key) {
          return { customer: key.externalId }
        }
      }`,
    after: `const nest = await NestFactory.create(AppModule, { logger: false })
      await nest.listen(0)
      console.log(nest.getHttpServer().address().port)`,
  },
]

const { settings, issue, vendor, service } = await startKeyrail()
// Below the packages that they import.
const cache = join(root, 'node_modules', '.cache')
mkdirSync(cache, { recursive: true })
const folder = mkdtempSync(join(cache, 'keyrail-quick-starts-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const files = around.map(({ heading, before, after }, number) => {
  const file = join(folder, `start-${number}.mts`)
  const given = `const { url, secretKey, project } = ${JSON.stringify(settings)}`
  writeFileSync(file, [given, before, codeOf(section(heading)), after].join('\n'))
  return file
})
const compiled = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
    ...[
      '--noCheck',
      '--ignoreConfig',
      '--experimentalDecorators',
      '--target',
      'es2022',
      '--module',
      'nodenext',
    ],
    ...files,
  ],
  { encoding: 'utf8' },
)
assert.equal(compiled.status, 0, compiled.stdout)

for (const [number, { heading }] of around.entries()) {
  test(`"${heading}" protects an API with its five lines`, async () => {
    const lines = codeOf(section(heading)).split('\n')
    // Five of them are Keyrail's.
    assert.ok(lines.filter(line => line !== '' && !line.includes('express()')).length <= 6)
    const { key } = await issue()
    const program = join(folder, `start-${number}.mjs`)
    const env = {
      ...process.env,
      KEYRAIL_URL: settings.url,
      KEYRAIL_SECRET_KEY: settings.secretKey,
      KEYRAIL_PROJECT: settings.project,
    }
    const child = spawn(process.execPath, ['-C', 'keyrail-source', program], { env })
    after(() => void child.kill())
    let complaint = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      complaint += text
    })
    const [port] = await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => assert.fail(complaint)),
    ])
    const url = `http://localhost:${Number(String(port))}/`
    const ask = (presented: string) => fetch(url, { headers: { authorization: `Bearer ${presented}` } })
    const [open, wrong, right] = [
      await fetch(url),
      await ask(createTestKeyring().issue().key),
      await ask(key),
    ]
    assert.deepEqual([open.status, wrong.status, right.status], [401, 401, 200])
    const { body: tenant } = await service.ask('GET', `/v1/tenants/${vendor.tenantId}`, {
      token: vendor.live,
    })
    assert.deepEqual(await right.json(), { customer: tenant.external_id })
  })
}

test('the pages name every option of limits, idempotency and usage', () => {
  for (const name of [...limiterOptionNames, ...idempotencyOptionNames, ...usageReporterOptionNames])
    assert.ok(readme.includes(`\`${name}`), name)
})
