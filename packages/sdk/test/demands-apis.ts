import 'reflect-metadata'
import { createServer } from 'node:http'
import { after } from 'node:test'
import { Post, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express, { type Express, type RequestHandler } from 'express'
// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import fastify from 'fastify'
import { Hono, type MiddlewareHandler } from 'hono'
import * as ofExpress from '../src/express.ts'
import { keyrailPlugin } from '../src/fastify.ts'
import * as ofHono from '../src/hono.ts'
import type { Idempotency } from '../src/idempotency/idempotent.ts'
import type { Keyring } from '../src/keyring/keyring.ts'
import { Cost, IdempotencyRequired, Scopes } from '../src/nest.ts'
import * as ofNext from '../src/next.ts'
import type { GateOptions, RouteRequirements } from '../src/protect/gate-options.ts'
import * as ofWeb from '../src/web.ts'
import { listen } from './fetch-server.ts'
import { decorate, startNest } from './nest-api.ts'

/** APIs with one route, `POST /`, on every adapter, which demand what a test says. */

export interface Demands {
  // biome-ignore lint/suspicious/noExplicitAny: each framework has its own requests.
  gate?: GateOptions<any>
  /** Said of the route, where the adapter has such a place. */
  route?: Pick<RouteRequirements, 'scopes' | 'cost'>
  idempotency?: Idempotency
  required?: boolean
  /** Sent with every request. */
  sent?: Record<string, string>
}

interface Parts extends Demands {
  keyring: Pick<Keyring, 'verify'>
}

/** @returns asks with these headers, for the status */
type Ask = (headers: Record<string, string>) => Promise<number>

const askAt =
  (url: string): Ask =>
  async headers => {
    const answer = await fetch(url, { method: 'POST', headers: { ...headers, connection: 'close' } })
    await answer.text()
    return answer.status
  }

const askOf =
  (handle: (request: Request) => Response | Promise<Response>): Ask =>
  async headers =>
    (await handle(new Request('http://localhost/', { method: 'POST', headers }))).status

const onExpress =
  (make: typeof express) =>
  async ({ keyring, gate, route: { scopes, cost } = {}, idempotency, required }: Parts): Promise<Ask> => {
    const app: Express = make()
    const behind: RequestHandler[] = []
    // In place of the gate's own, because the order of middleware is the vendor's.
    if (scopes !== undefined) behind.push(ofExpress.requireScope(...scopes))
    const { limiter, ...rest } = gate ?? {}
    if (limiter) behind.push(ofExpress.limit(limiter, { cost }))
    if (idempotency !== undefined) behind.push(ofExpress.idempotent(idempotency, { required }))
    app.use(ofExpress.requireKey(keyring, { ...rest, ...(limiter === undefined && { cost }) }), ...behind)
    app.post('/', (_, response) => void response.send('passed'))
    return askAt(await listen(createServer(app)))
  }

async function onFastify({ keyring, gate, route, idempotency, required }: Parts): Promise<Ask> {
  const app = fastify()
  after(() => app.close())
  await app.register(keyrailPlugin, { keyring, idempotency, ...gate })
  const config = { keyrail: { ...route, idempotencyRequired: required } }
  app.post('/', { config }, async (_, reply) => reply.code(200).send('passed'))
  return async headers => (await app.inject({ method: 'POST', url: '/', headers })).statusCode
}

async function onHono({ keyring, gate, route = {}, idempotency, required }: Parts): Promise<Ask> {
  const { scopes, cost } = route
  const app = new Hono()
  const { limiter, ...rest } = gate ?? {}
  const own = { ...rest, ...(limiter === undefined && { cost }) } as ofHono.RequireKeyOptions
  app.use(ofHono.requireKey(keyring, own))
  if (scopes !== undefined) app.use(ofHono.requireScope(...scopes) as MiddlewareHandler)
  if (limiter) app.use(ofHono.limit(limiter, { cost }) as MiddlewareHandler)
  if (idempotency !== undefined) app.use(ofHono.idempotent(idempotency, { required }) as MiddlewareHandler)
  app.post('/', context => context.text('passed'))
  return askOf(request => app.fetch(request))
}

type WithKey = (
  keyring: Parts['keyring'],
  handler: () => Response,
  options: ofWeb.WithKeyOptions,
) => (request: Request, context: object) => Promise<Response>

const onFetch =
  (withKey: WithKey) =>
  async ({ keyring, gate, route, idempotency, required }: Parts): Promise<Ask> => {
    const options = { ...gate, ...route, idempotency, idempotencyRequired: required }
    const handle = withKey(keyring, () => new Response('passed'), options)
    return askOf(request => handle(request, {}))
  }

const onNest =
  (make: (module: Type) => ReturnType<typeof NestFactory.create>) =>
  async ({ keyring, gate, route: { scopes, cost } = {}, idempotency, required }: Parts): Promise<Ask> => {
    class Api {
      pass() {
        return 'passed'
      }
    }
    const marks: MethodDecorator[] = [Post('/')]
    if (scopes !== undefined) marks.push(Scopes(...scopes))
    if (cost !== undefined) marks.push(Cost(cost))
    if (required) marks.push(IdempotencyRequired())
    decorate(Api, { pass: [marks] })
    const ask = askAt(await startNest(make, [Api], { keyring, idempotency, ...gate }))
    // Nest answers a POST with 201.
    return async headers => ask(headers).then(status => (status === 201 ? 200 : status))
  }

const quiet = { logger: false, forceCloseConnections: true, abortOnError: false } as const

export const adapters: Record<string, (parts: Parts) => Promise<Ask>> = {
  'Express 4': onExpress(express4 as typeof express),
  'Express 5': onExpress(express),
  Fastify: onFastify,
  Hono: onHono,
  Fetch: onFetch(ofWeb.withKey),
  Next: onFetch(ofNext.withKey as WithKey),
  'Nest on Express': onNest(module => NestFactory.create(module, quiet)),
  'Nest on Fastify': onNest(module => NestFactory.create(module, new FastifyAdapter(), quiet)),
}
