import { createServer } from 'node:http'
import type express from 'express'
import type { ErrorRequestHandler, Express, Request, Response } from 'express'
import { embedHandler, idempotent, limit, requireKey, requireScope } from '../src/express.ts'
import type { BuildEmbed } from './embed-suite.ts'
import { listen } from './fetch-server.ts'
import type { BuildGate } from './gate-suite.ts'
import type { BuildApi } from './protected-api.ts'

/** The same API on the given Express. */
export const expressApi =
  (make: typeof express): BuildApi =>
  async ({ keyring, limiter, idempotency, usage, work }) => {
    const app: Express = make()
    app.use(requireKey(keyring, { usage }), make.json())
    app.get('/write', limit(limiter, { cost: 2 }), requireScope('orders:write'), (_, response) => {
      response.send('wrote')
    })
    app.use(limit(limiter), idempotent(idempotency))
    app.get('/orders', ({ apiKey }, response) => void response.json({ tenantId: apiKey?.tenantId }))
    app.post('/payments', async ({ body }, response) => {
      const done = await work(body)
      response.status(201).location(`/payments/${done.calls}`).json(done)
    })
    app.post('/broken', async ({ body }, response) => {
      await work(body)
      response.status(503).send('broken')
    })
    app.post('/large', async ({ body }, response) => {
      await work(body)
      // In pieces, as from a stream.
      for (let piece = 0; piece < 20; piece++) response.write('x'.repeat(100))
      response.end()
    })
    return listen(createServer(app))
  }

export const expressGate =
  (make: typeof express): BuildGate =>
  async ({ keyring, idempotency, options }) => {
    const app: Express = make()
    app.use(requireKey(keyring, options), make.json())
    const answer = ({ apiKey }: Request, response: Response) =>
      void response.json({ keyId: apiKey?.keyId ?? null })
    app.get('/plain', answer)
    app.get('/scoped', requireScope('admin'), answer)
    app.post('/once', idempotent(idempotency), answer)
    // Express's own would log what a test throws.
    const failed: ErrorRequestHandler = (_error, _request, response, _next) => void response.status(500).end()
    app.use(failed)
    return listen(createServer(app))
  }

export const expressEmbed =
  (make: typeof express): BuildEmbed =>
  async ({ embed, customerOf, options }) => {
    const app: Express = make()
    app.use(
      '/token',
      embedHandler(embed, request => customerOf(request.get('x-session')), options),
    )
    const failed: ErrorRequestHandler = (_error, _request, response, _next) => void response.status(500).end()
    app.use(failed)
    return listen(createServer(app))
  }
