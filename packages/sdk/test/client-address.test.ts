import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { documented } from './documented.ts'

/** The code of `docs/sdk/client-address.md`, run unchanged but for the double in place of the service. */

const root = join(import.meta.dirname, '..', '..', '..')
// Below the packages that the code imports.
const cache = join(root, 'node_modules', '.cache')
mkdirSync(cache, { recursive: true })
const folder = mkdtempSync(join(cache, 'keyrail-client-address-'))
after(() => rmSync(folder, { recursive: true, force: true }))

interface Protected {
  keyrail: { issue(options: { allowedCidrs: readonly string[] }): { key: string } }
  server: Server
}

async function run(heading: string, before: string, below: string): Promise<Protected> {
  const { code } =
    documented.find(each => each.page === 'docs/sdk/client-address.md' && each.heading === heading) ??
    assert.fail(heading)
  const doubled = code
    .replace(
      `import { createKeyrail } from '@keyrail/sdk'`,
      `import { createTestKeyrail as createKeyrail } from '@keyrail/sdk/testing'`,
    )
    // Node strips no types below `node_modules`.
    .replace('type KeyrailEnv, ', '')
    // The page opens it with the first request.
    .replace(
      'const open = () => createKeyrail()',
      'const keyrail = createKeyrail()\nconst open = () => keyrail',
    )
  const file = join(folder, `${heading.replaceAll(' ', '-')}.mjs`)
  writeFileSync(file, [before, doubled, below, 'export { keyrail, server }'].join('\n'))
  const made = (await import(pathToFileURL(file).href)) as Protected
  after(() => made.server.close().closeAllConnections())
  return made
}

/** The codes of a request of the proxy's client, with what a proxy has appended behind what the client has forged. */
async function codesOf({ keyrail, server }: Protected, header: Record<string, string>) {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const codes: string[] = []
  for (const allowedCidrs of [['203.0.113.0/24'], ['198.51.100.0/24'], ['127.0.0.0/8', '::1']]) {
    const { key } = keyrail.issue({ allowedCidrs })
    const headers = { ...header, authorization: `Bearer ${key}`, connection: 'close' }
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers })
    const body = (await answer.json()) as { code?: string }
    codes.push(answer.status === 200 ? 'valid' : String(body.code))
  }
  return codes
}

const appended = { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' }
const listening = `await new Promise(resolve => server.once('listening', resolve))`
const onlyClient = ['valid', 'ip_not_allowed', 'ip_not_allowed']
const onlyPeer = ['ip_not_allowed', 'ip_not_allowed', 'valid']

test('Express: one proxy is believed about its client, and not about what the client said', async () => {
  const made = await run(
    'With Express',
    `import express from 'express'\nconst app = express()`,
    `app.get('/', (_request, response) => void response.json({}))
     const server = app.listen(0, '127.0.0.1')\n${listening}`,
  )
  assert.deepEqual(await codesOf(made, appended), onlyClient)
})

test('Fastify: one proxy is believed about its client, and not about what the client said', async () => {
  const made = await run(
    'With Fastify',
    '',
    `app.get('/', async () => ({}))
     await app.listen({ port: 0, host: '127.0.0.1' })\nconst { server } = app`,
  )
  assert.deepEqual(await codesOf(made, appended), onlyClient)
})

test('Hono: the address is that of the connection, whatever a client says', async () => {
  const made = await run(
    'With Hono',
    `import { serve } from '@hono/node-server'\nimport { Hono } from 'hono'\nconst app = new Hono()`,
    `app.get('/', context => context.json({}))
     const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })\n${listening}`,
  )
  assert.deepEqual(await codesOf(made, appended), onlyPeer)
})

test('Next: the address is in the header that the vendor names, and in no other', async () => {
  const made = await run(
    'With Next',
    `import { serve } from '@hono/node-server'`,
    `const server = serve({ fetch: request => GET(request), port: 0, hostname: '127.0.0.1' })\n${listening}`,
  )
  assert.deepEqual(await codesOf(made, { ...appended, 'x-real-ip': '203.0.113.7' }), onlyClient)
  assert.deepEqual(await codesOf(made, appended), Array(3).fill('ip_unknown'))
})
