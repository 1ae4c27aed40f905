import 'reflect-metadata'
import { createServer, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { after } from 'node:test'
import { All, Req, Res, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express, { type Express } from 'express'
// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { idempotent, requireKey } from '../src/express.ts'
import { keyrailPlugin } from '../src/fastify.ts'
import * as ofHono from '../src/hono.ts'
import type { Idempotency } from '../src/idempotency/idempotent.ts'
import type { Keyring } from '../src/keyring/keyring.ts'
import * as ofNext from '../src/next.ts'
import * as ofWeb from '../src/web.ts'
import { listen, serveFetch } from './fetch-server.ts'
import { decorate, startNest } from './nest-api.ts'

/** APIs that give the answers of a test, on every adapter. */

/** What the route answers. */
export interface Given {
  status: number
  headers: Record<string, string>
  chunks: Uint8Array[]
  /** Flushes the head before anything else. */
  isFlushed?: boolean
  /** Awaited after the chunks, before the end. */
  gate?: Promise<void>
}

interface Parts {
  keyring: Pick<Keyring, 'verify'>
  idempotency: Idempotency
  /** Called once for each execution. */
  answer(path: string): Given
  /** What middleware before the claim sets on every answer. */
  before(origin: string): Record<string, string>
}

const bytesOf = ({ chunks }: Given): Buffer => Buffer.concat(chunks)

/** As a handler of Node writes it: whole if it can. */
async function writeAnswer(response: ServerResponse, given: Given): Promise<void> {
  response.statusCode = given.status
  for (const [name, value] of Object.entries(given.headers)) response.setHeader(name, value)
  if (given.isFlushed) response.flushHeaders()
  for (const chunk of given.chunks) response.write(chunk)
  await given.gate
  response.end()
}

async function* piecesOf({ chunks, gate }: Given) {
  yield* chunks
  await gate
}

const responseOf = (given: Given): Response => {
  const { status, headers, chunks, gate } = given
  const stream = () => Readable.toWeb(Readable.from(piecesOf(given))) as ReadableStream
  const body = chunks.length === 0 ? null : gate === undefined ? bytesOf(given) : stream()
  return new Response(body as ReadableStream | null, { status, headers })
}

const onExpress =
  (make: typeof express) =>
  async ({ keyring, idempotency, answer, before }: Parts): Promise<string> => {
    const app: Express = make()
    app.use((request, response, next) => {
      response.set(before(String(request.headers.origin)))
      next()
    })
    app.use(requireKey(keyring), make.json(), idempotent(idempotency))
    app.post('/:path', ({ params }, response) => writeAnswer(response, answer(String(params.path))))
    return listen(createServer(app))
  }

async function onFastify({ keyring, idempotency, answer, before }: Parts): Promise<string> {
  const app = fastify({ forceCloseConnections: true })
  after(() => app.close())
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(before(String(request.headers.origin)))
  })
  await app.register(keyrailPlugin, { keyring, idempotency })
  app.post<{ Params: { path: string } }>('/:path', async ({ params }, reply) => {
    const given = answer(params.path)
    reply.code(given.status).headers(given.headers)
    if (given.isFlushed) {
      reply.hijack()
      await writeAnswer(reply.raw, given)
      return reply
    }
    if (given.chunks.length === 0) return reply.send()
    return reply.send(given.gate === undefined ? bytesOf(given) : Readable.from(piecesOf(given)))
  })
  return app.listen({ port: 0, host: '127.0.0.1' })
}

async function onHono({ keyring, idempotency, answer, before }: Parts): Promise<string> {
  const app = new Hono<ofHono.KeyrailEnv>()
  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(before(context.req.header('origin') ?? '')))
      context.res.headers.set(name, value)
    await next()
  })
  app.use(ofHono.requireKey(keyring), ofHono.idempotent(idempotency))
  app.post('/:path', context => {
    const { status, headers, body } = responseOf(answer(context.req.param('path')))
    return context.newResponse(body, status as 200, Object.fromEntries(headers))
  })
  return serveFetch(request => app.fetch(request))
}

type WithKey = (
  keyring: Parts['keyring'],
  handler: (request: Request) => Response,
  options: ofWeb.WithKeyOptions,
) => (request: Request, context: object) => Promise<Response>

/** Here what stands before the claim stands around it, and sets its headers afterwards. */
const onFetch =
  (withKey: WithKey) =>
  async ({ keyring, idempotency, answer, before }: Parts): Promise<string> => {
    const handle = withKey(keyring, ({ url }) => responseOf(answer(new URL(url).pathname.slice(1))), {
      idempotency,
    })
    return serveFetch(async request => {
      const response = await handle(request, {})
      const whole = new Response(response.body, response)
      const { Vary, ...own } = before(request.headers.get('origin') ?? '')
      for (const [name, value] of Object.entries(own)) whole.headers.set(name, value)
      if (Vary !== undefined) whole.headers.append('Vary', Vary)
      return whole
    })
  }

const onNest =
  (make: (module: Type) => ReturnType<typeof NestFactory.create>) =>
  async ({ keyring, idempotency, answer, before }: Parts): Promise<string> => {
    class Api {
      answer(request: { params: { path: string } }, response: ServerResponse & { raw?: ServerResponse }) {
        return writeAnswer(response.raw ?? response, answer(request.params.path))
      }
    }
    decorate(Api, { answer: [[All('/:path')], Req(), Res()] })
    return startNest(
      async module => {
        const app = await make(module)
        app.use((request: { headers: { origin?: string } }, response: ServerResponse, next: () => void) => {
          for (const [name, value] of Object.entries(before(String(request.headers.origin))))
            response.setHeader(name, value)
          next()
        })
        return app
      },
      [Api],
      { keyring, idempotency },
    )
  }

const quiet = { logger: false, forceCloseConnections: true } as const

export const adapters: Record<string, (parts: Parts) => Promise<string>> = {
  'Express 4': onExpress(express4 as typeof express),
  'Express 5': onExpress(express),
  Fastify: onFastify,
  Hono: onHono,
  Fetch: onFetch(ofWeb.withKey),
  Next: onFetch(ofNext.withKey as WithKey),
  'Nest on Express': onNest(module => NestFactory.create(module, quiet)),
  'Nest on Fastify': onNest(module => NestFactory.create(module, new FastifyAdapter(), quiet)),
}
