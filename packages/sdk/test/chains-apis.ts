import 'reflect-metadata'
import { createServer } from 'node:http'
import { after } from 'node:test'
import { Get, HttpCode, type INestApplication, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express, { type Express } from 'express'
// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono, type MiddlewareHandler } from 'hono'
import * as ofExpress from '../src/express.ts'
import { keyrailPlugin } from '../src/fastify.ts'
import * as ofHono from '../src/hono.ts'
import { Cost } from '../src/nest.ts'
import * as ofNext from '../src/next.ts'
import type { GateOptions } from '../src/protect/gate-options.ts'
import type { KeyringOf, LimiterOf } from '../src/protect/parts.ts'
import type { TestKeyrail } from '../src/testing.ts'
import * as ofWeb from '../src/web.ts'
import { listen } from './fetch-server.ts'
import { decorate, startNest } from './nest-api.ts'

/** APIs with one route, `GET /`, behind several guards in a row, on every adapter. */

interface Link extends Pick<GateOptions<never>, 'limiter' | 'usage'> {
  /** Default: the whole of the test. */
  keyring?: TestKeyrail['keys']
  cost?: number
}

export interface Chain {
  whole: TestKeyrail
  /** Each is a guard, the outermost first. */
  guards: readonly Link[]
  /** `limit` behind the guards, where the adapter has it. */
  limits?: readonly { limiter: LimiterOf; cost?: number }[]
  /** The status of the route. Default: 200. */
  status?: number
}

export interface Answer {
  status: number
  ratelimit: string | null
}
type Ask = (key: string) => Promise<Answer>

const read = async (answer: Response): Promise<Answer> => {
  await answer.text()
  return { status: answer.status, ratelimit: answer.headers.get('ratelimit') }
}
const askAt =
  (url: string): Ask =>
  async key =>
    read(await fetch(url, { headers: { authorization: `Bearer ${key}`, connection: 'close' } }))

const onExpress =
  (make: typeof express) =>
  async ({ whole, guards, limits = [], status = 200 }: Chain): Promise<Ask> => {
    const app: Express = make()
    for (const { keyring = whole, ...options } of guards) app.use(ofExpress.requireKey(keyring, options))
    for (const { limiter, cost } of limits) app.use(ofExpress.limit(limiter, { cost }))
    app.get('/', (_, response) => void response.status(status).send('passed'))
    return askAt(await listen(createServer(app)))
  }

async function onFastify({ whole, guards, status = 200 }: Chain): Promise<Ask> {
  const app = fastify()
  after(() => app.close())
  const [last] = guards.slice(-1)
  const nest = async (part: FastifyInstance, [first, ...more]: readonly Link[]): Promise<void> => {
    if (first === undefined) {
      const config = { keyrail: { cost: last?.cost } }
      part.get('/', { config }, async (_, reply) => reply.code(status).send('passed'))
      return
    }
    const { keyring = whole, cost: _, ...options } = first
    await part.register(keyrailPlugin, { keyring, ...options })
    await part.register(async inner => nest(inner, more))
  }
  await nest(app, guards)
  return askAt(await app.listen({ port: 0, host: '127.0.0.1' }))
}

async function onHono({ whole, guards, limits = [], status = 200 }: Chain): Promise<Ask> {
  const app = new Hono()
  for (const { keyring = whole, ...options } of guards) app.use(ofHono.requireKey(keyring, options))
  for (const { limiter, cost } of limits) {
    app.use(ofHono.limit(limiter, { cost }) as MiddlewareHandler)
  }
  app.get('/', context => context.text('passed', status as 200))
  return async key =>
    read(await app.fetch(new Request('http://localhost/', { headers: { authorization: `Bearer ${key}` } })))
}

const onFetch =
  (withKey: typeof ofWeb.withKey) =>
  async ({ whole, guards, status = 200 }: Chain): Promise<Ask> => {
    let handle: (request: Request) => Response | Promise<Response> = () => new Response('passed', { status })
    for (const { keyring = whole, ...options } of guards.toReversed()) {
      handle = withKey(keyring, handle, options)
    }
    return async key =>
      read(await handle(new Request('http://localhost/', { headers: { authorization: `Bearer ${key}` } })))
  }

type Guard = (app: INestApplication, keyring: KeyringOf, options: Omit<Link, 'keyring'>) => unknown

/** The outer guards are those of the platform: a second module of Nest would be the first one again. */
const onNest =
  (make: (module: Type) => Promise<INestApplication>, guard: Guard) =>
  async ({ whole, guards, status = 200 }: Chain): Promise<Ask> => {
    class Api {
      pass() {
        return 'passed'
      }
    }
    const outer = guards.slice(0, -1)
    const { keyring: own = whole, cost: routeCost, ...options } = guards.at(-1) ?? {}
    const marks: MethodDecorator[] = [Get('/'), HttpCode(status)]
    if (routeCost !== undefined) marks.push(Cost(routeCost))
    decorate(Api, { pass: [marks] })
    const withGuards = async (module: Type) => {
      const app = await make(module)
      for (const { keyring = whole, ...more } of outer) await guard(app, keyring, more)
      return app
    }
    return askAt(await startNest(withGuards as never, [Api], { keyring: own, ...options }))
  }

const quiet = { logger: false, forceCloseConnections: true, abortOnError: false } as const

export const chains: Record<string, (chain: Chain) => Promise<Ask>> = {
  'Express 4': onExpress(express4 as typeof express),
  'Express 5': onExpress(express),
  Fastify: onFastify,
  Hono: onHono,
  Fetch: onFetch(ofWeb.withKey),
  Next: onFetch(ofNext.withKey),
  'Nest on Express': onNest(
    module => NestFactory.create(module, quiet),
    (app, keyring, options) => app.use(ofExpress.requireKey(keyring, options)),
  ),
  'Nest on Fastify': onNest(
    module => NestFactory.create(module, new FastifyAdapter(), quiet),
    (app, keyring, { cost: _, ...options }) =>
      app
        .getHttpAdapter()
        .getInstance()
        .register(keyrailPlugin, { keyring, ...options }),
  ),
}
