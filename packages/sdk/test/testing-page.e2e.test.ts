import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

/** The code of `docs/sdk/testing.md`, run unchanged. */

const root = join(import.meta.dirname, '..', '..', '..')
const page = readFileSync(join(root, 'docs', 'sdk', 'testing.md'), 'utf8')
const lines = Array.from(page.matchAll(/```ts\n([\s\S]*?)```/g), ([, code = '']) => code)

/** The reader's own code: an API that starts with the given parts. */
const before = `import assert from 'node:assert/strict'
  import express from 'express'
  import { idempotent, limit, requireKey, requireScope } from '@keyrail/sdk/express'
  let server
  async function startApi({ keyring, limiter, idempotency, usage }) {
    const api = express()
    api.use(requireKey(keyring, { usage }), limit(limiter), express.json(), idempotent(idempotency))
    api.get('/orders', requireScope('orders:read'), (request, response) => void response.json([]))
    api.post('/payments', (request, response) => void response.status(201).json({ id: 1 }))
    server = api.listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    return (asked, { key, idempotencyKey }) => {
      const [method, path] = asked.split(' ')
      return fetch('http://127.0.0.1:' + server.address().port + path, {
        method,
        headers: {
          authorization: 'Bearer ' + key,
          connection: 'close',
          ...(idempotencyKey && { 'content-type': 'application/json', 'idempotency-key': idempotencyKey }),
        },
        ...(method === 'POST' && { body: '{}' }),
      })
    }
  }`

test('the test of the page passes', () => {
  assert.equal(lines.length, 2)
  // Below the packages that it imports.
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'keyrail-testing-page-'))
  try {
    const program = join(folder, 'api.mjs')
    writeFileSync(program, [before, ...lines, 'server.close()', `console.log('passed')`].join('\n'))
    const { stdout, stderr } = spawnSync(process.execPath, ['-C', 'keyrail-source', program], {
      encoding: 'utf8',
    })
    assert.equal(stdout, 'passed\n', stderr)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
