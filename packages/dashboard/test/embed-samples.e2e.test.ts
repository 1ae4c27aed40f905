import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { startKeyrail } from '../../sdk/test/service.ts'
import { serverSamples } from '../src/screens/embed/server-samples.ts'
import { compile, makeSamplesFolder, strictTypes } from './compile.ts'

/** The code that the Embed screen shows for the server, unchanged in an app, with the real service. */

const { service, vendor, settings } = await startKeyrail()
const secretKey = (
  await service.ask('POST', '/v1/secret_keys', {
    token: vendor.live,
    body: { env: 'live', preset: 'embed', project_ids: [settings.project] },
  })
).body.key
const samples = serverSamples({ url: settings.url, projectId: settings.project, env: 'live' })

const printed = `.address() as import('node:net').AddressInfo).port)`
const serve = (handler: string) => `import { serve } from '@hono/node-server'
serve({ fetch: ${handler}, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log(port))`
const customerOf = `
type Asked = { headers: unknown } | { header(name: 'cookie'): string | undefined }
async function customerOf(request: Asked): Promise<{ id: string; name: string } | null> {
  const { headers } = request as { headers?: unknown }
  const session =
    headers === undefined
      ? (request as { header(name: 'cookie'): string | undefined }).header('cookie')
      : headers instanceof Headers
        ? headers.get('cookie')
        : (headers as { cookie?: string }).cookie
  return session === 'session=ada' ? { id: 'org_ada', name: 'Globex' } : null
}`
/** The reader's own code: an app before, and a port after. */
const around: Readonly<Record<string, { before: string; after: string }>> = {
  Express: {
    before: `import express from 'express'\nconst app = express()`,
    after: `const server = app.listen(0, '127.0.0.1', () => console.log((server${printed})`,
  },
  Fastify: {
    before: `import { fastify } from 'fastify'\nconst app = fastify()`,
    after: `await app.listen({ port: 0, host: '127.0.0.1' })\nconsole.log((app.server${printed}`,
  },
  Hono: { before: `import { Hono } from 'hono'\nconst app = new Hono()`, after: serve('app.fetch') },
  Next: { before: '', after: serve('POST') },
  Nest: {
    before: `import 'reflect-metadata'\nimport { Module } from '@nestjs/common'\nimport { NestFactory } from '@nestjs/core'`,
    after: `@Module({ controllers: [TokenController] })
class App {}
const nest = await NestFactory.create(App, { logger: false })
await nest.listen(0, '127.0.0.1')
console.log((nest.getHttpServer()${printed}`,
  },
  Fetch: { before: '', after: serve('POST') },
}

const folder = makeSamplesFolder()

const programs = samples.flatMap(({ name, code }) => {
  const { [name]: parts } = around
  if (parts === undefined) return []
  const file = join(folder, `${name}.mts`)
  writeFileSync(file, [parts.before, code, customerOf, parts.after].join('\n'))
  return [{ name, file }]
})

const files = programs.map(({ file }) => file)

test('the code has the right types, in a strict project', () => {
  assert.deepEqual(
    programs.map(({ name }) => name),
    Object.keys(around),
  )
  const { status, stdout } = compile(files, strictTypes)
  assert.equal(status, 0, stdout)
})

assert.equal(compile(files, ['--noCheck']).status, 0)
for (const { name, file } of programs) {
  test(`${name}: a page gets a token for the customer of its session, and no other`, async () => {
    const child = spawn(process.execPath, ['-C', 'keyrail-source', file.replace(/mts$/, 'mjs')], {
      env: { ...process.env, KEYRAIL_EMBED_KEY: secretKey },
    })
    after(() => void child.kill())
    let complaint = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      complaint += text
    })
    const [port] = await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => assert.fail(complaint)),
    ])
    const ask = (headers: Record<string, string>) =>
      fetch(`http://127.0.0.1:${Number(String(port))}/keyrail-token`, { method: 'POST', headers })
    assert.equal((await ask({})).status, 401)
    const answer = await ask({ cookie: 'session=ada' })
    assert.equal(answer.status, 200, complaint)
    const { token } = (await answer.json()) as { token: string }
    const { body } = await service.ask('GET', '/v1/embed/session', { token })
    assert.deepEqual([body.tenant.external_id, body.tenant.name, body.env], ['org_ada', 'Globex', 'live'])
    assert.deepEqual(body.can, {
      read: true,
      write: true,
      update: true,
      pause: true,
      network: false,
      tenant_network: false,
      key_scopes: [],
    })
  })
}

test('the curl line gets a token', async () => {
  const { code = '' } = samples.find(({ name }) => name === 'curl') ?? {}
  const { stdout } = await promisify(execFile)('bash', ['-ec', code], {
    env: { ...process.env, KEYRAIL_EMBED_KEY: secretKey },
  })
  assert.match(stdout, /"object":"embed_token"/)
})
