import { Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { fastify } from 'fastify'
import { keyrailPlugin } from '../packages/sdk/src/fastify.ts'
import { Cost, IdempotencyRequired, KeyrailModule, Public, Scopes } from '../packages/sdk/src/nest.ts'
import { createTestKeyring } from '../packages/sdk/src/testing.ts'
import { decorate, startNest } from '../packages/sdk/test/nest-api.ts'
import { type Situation, thrownBy } from './sdk-said.ts'

/** Mistakes with Nest and Fastify, and their messages. */

// biome-ignore lint/suspicious/noExplicitAny: untyped code passes anything.
type Anything = any

const keyring = createTestKeyring()
const nowhere = { url: 'http://127.0.0.1:2' }

const startNestWith = (options: Anything) => () => {
  class App {}
  Module({ imports: [KeyrailModule.forRoot(options)] })(App)
  return NestFactory.create(App, { logger: false, abortOnError: false })
}

/** A route of Nest with these decorators. */
const nestRoute = (...marks: MethodDecorator[]) =>
  thrownBy(async () => {
    class Api {
      pay() {}
    }
    decorate(Api, { pay: [[Post('/payments'), ...marks]] })
    const quiet = { logger: false, abortOnError: false } as const
    await startNest((module: Anything) => NestFactory.create(module, quiet), [Api], { keyring })
  })

const startFastifyWith = (options: Anything, keyrail: Anything = {}) =>
  async function start() {
    const app = fastify()
    await app.register(keyrailPlugin, options)
    app.get('/orders', { config: { keyrail } }, async () => 'orders')
    await app.ready()
  }

export const misusesOfFrameworks: readonly Situation[] = [
  ['Nest without a keyring', 'KeyrailModule takes a keyring', () => thrownBy(startNestWith({}))],
  [
    'Nest with a misspelt option',
    'KeyrailModule has no option "…": it is called "…"',
    () => thrownBy(startNestWith({ keyring, limits: {} })),
  ],
  [
    'Nest without idempotency',
    '….…: IdempotencyRequired needs idempotency',
    () => nestRoute(IdempotencyRequired()),
  ],
  ['Nest without limits', '….…: cost needs limiter, which charges it', () => nestRoute(Cost(2))],
  [
    'a public route of Nest with scopes',
    '….…: a public route cannot demand anything of a key',
    () => nestRoute(Public(), Scopes('orders:read')),
  ],
  ['no scopes in Nest', 'Scopes takes at least one scope', () => thrownBy(() => Scopes())],
  ['Fastify without a keyring', 'keyrailPlugin takes a keyring', () => thrownBy(startFastifyWith({}))],
  [
    'Fastify with a misspelt option',
    'keyrailPlugin has no option "…": it is called "…"',
    () => thrownBy(startFastifyWith({ keyring, limits: {} })),
  ],
  [
    'a misspelt route of Fastify',
    'config.keyrail has no option "…": it is called "…"',
    () => thrownBy(startFastifyWith({ keyring }, { scope: 'orders:read' })),
  ],
  [
    'Fastify without idempotency',
    'idempotencyRequired needs idempotency',
    () => thrownBy(startFastifyWith({ keyring }, { idempotencyRequired: true })),
  ],
  [
    'a route with public as a string',
    '… must be true or false',
    () => thrownBy(startFastifyWith({ keyring }, { public: 'yes' })),
  ],
  [
    'a public route with scopes',
    '… needs a key, which a public route does not read',
    () => thrownBy(startFastifyWith({ keyring }, { public: true, scopes: ['a'] })),
  ],
  [
    'an invalid limiter',
    'limiter must be made by createLimiter',
    () => thrownBy(startFastifyWith({ keyring, limiter: nowhere })),
  ],
  [
    'an invalid reporter',
    'usage must be made by createUsageReporter',
    () => thrownBy(startFastifyWith({ keyring, usage: nowhere })),
  ],
]
