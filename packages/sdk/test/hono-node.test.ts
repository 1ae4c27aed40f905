import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { test } from 'node:test'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { idempotent, type KeyrailEnv, requireKey } from '../src/hono.ts'
import { createTestIdempotency, createTestKeyring } from '../src/testing.ts'
import { listen } from './fetch-server.ts'

test('Hono on Node: a replay without a body gains no Content-Type', async () => {
  const keyring = createTestKeyring()
  const { key } = keyring.issue()
  const app = new Hono<KeyrailEnv>()
  app.use(requireKey(keyring), idempotent(createTestIdempotency()))
  app.post('/', context => context.body(null, 201, { location: '/1' }))
  const url = await listen(createAdaptorServer({ fetch: app.fetch }) as Server)
  for (const replayed of [null, 'true']) {
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'a' }
    const answer = await fetch(url, { method: 'POST', headers })
    assert.deepEqual(
      [answer.status, answer.headers.get('idempotent-replayed'), answer.headers.get('content-type')],
      [201, replayed, null],
    )
    assert.deepEqual([await answer.text(), answer.headers.get('location')], ['', '/1'])
  }
})
