import { Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { fastify } from 'fastify'
import { createAdmin } from '../packages/sdk/src/admin.ts'
import { keyrailPlugin } from '../packages/sdk/src/fastify.ts'
import { type ConnectionOptions, createEmbed, createUsageReporter } from '../packages/sdk/src/index.ts'
import { Cost, IdempotencyRequired, KeyrailModule, Public, Scopes } from '../packages/sdk/src/nest.ts'
import { createTestKeyring } from '../packages/sdk/src/testing.ts'
import { embedHandler } from '../packages/sdk/src/web.ts'
import { drawKey, id } from '../packages/sdk/test/keys.ts'
import { decorate, startNest } from '../packages/sdk/test/nest-api.ts'

/** Mistakes with the admin client, usage reports, Nest and Fastify, and their messages. */

// biome-ignore lint/suspicious/noExplicitAny: untyped code passes anything.
type Anything = any

const keyring = createTestKeyring()

async function thrownBy(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing was thrown')
}

/** Simulates a browser: with a document and without Node. */
function inBrowser(work: () => unknown): Promise<string> {
  const versions = Object.getOwnPropertyDescriptor(process, 'versions') as PropertyDescriptor
  Object.assign(globalThis, { document: {} })
  Object.defineProperty(process, 'versions', { ...versions, value: {} })
  try {
    return thrownBy(work)
  } finally {
    Object.defineProperty(process, 'versions', versions)
    Reflect.deleteProperty(globalThis, 'document')
  }
}

/** The messages of a reporter that has counted one request of an unknown key. */
async function usageMessages(connection: ConnectionOptions, timeoutMs = 10_000): Promise<string[]> {
  const said: string[] = []
  const usage = createUsageReporter({ ...connection, onError: ({ message }) => said.push(message) })
  usage.count({ keyId: id(9) })
  await usage.close({ timeoutMs })
  return said
}

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

/** @param connection to the real service, with an owner's key */
export function misusesOfParts(
  connection: ConnectionOptions,
): [name: string, say: () => string | Promise<string>][] {
  const admin = (more: Anything = {}) => createAdmin({ ...connection, maxRetries: 0, ...more })
  const other = async () => Response.json({ object: 'something_else' })
  const unsaid = async () => Response.json({ object: 'api_key', id: id(3) }, { status: 201 })
  const key = { projectId: id(1), tenantId: id(2), env: 'live' } as const
  const nowhere = { secretKey: drawKey('krsk_live'), url: 'http://127.0.0.1:2' }
  return [
    ['admin with a project', () => thrownBy(() => admin({ project: id(1) }))],
    ['admin in a page', () => inBrowser(admin)],
    [
      'a name of the service',
      () =>
        thrownBy(() =>
          admin()
            .keys.list({ tenant_id: id(2) } as Anything)
            .page(),
        ),
    ],
    ['a name as an id', () => thrownBy(() => admin().keys.get('payments'))],
    [
      'an idempotencyKey of two lines',
      () => thrownBy(() => admin().keys.create(key, { idempotencyKey: 'a\nb' })),
    ],
    ['another answer', () => thrownBy(() => admin({ fetch: other }).workspace.get())],
    ['a lost secret', () => thrownBy(() => admin({ fetch: unsaid }).keys.create(key))],
    ['an aborted call', () => thrownBy(() => admin().workspace.get({ signal: AbortSignal.abort() }))],
    [
      'usage with a project',
      () => thrownBy(() => createUsageReporter({ ...nowhere, project: id(1) } as Anything)),
    ],
    ['a rate in percent', () => thrownBy(() => createUsageReporter({ ...nowhere, sampleRate: 10 }))],
    ['usage of an unknown key', async () => (await usageMessages(connection))[0] ?? ''],
    ['usage without a service', async () => (await usageMessages(nowhere, 500))[0] ?? ''],
    ['usage left at the end', async () => (await usageMessages(nowhere, 500)).at(-1) ?? ''],
    ['an embed handler without its part', () => thrownBy(() => embedHandler({} as Anything, () => null))],
    [
      'an embed handler without a session check',
      () => thrownBy(() => embedHandler(createEmbed({ ...nowhere, project: id(1) }), undefined as Anything)),
    ],
    [
      'an embed handler with one origin as a string',
      () =>
        thrownBy(() =>
          embedHandler(createEmbed({ ...nowhere, project: id(1) }), () => null, {
            origins: 'https://a' as Anything,
          }),
        ),
    ],
    ['Nest without a keyring', () => thrownBy(startNestWith({}))],
    ['Nest with a misspelt option', () => thrownBy(startNestWith({ keyring, limits: {} }))],
    ['Nest without idempotency', () => nestRoute(IdempotencyRequired())],
    ['Nest without limits', () => nestRoute(Cost(2))],
    ['a public route of Nest with scopes', () => nestRoute(Public(), Scopes('orders:read'))],
    ['no scopes in Nest', () => thrownBy(() => Scopes())],
    ['Fastify without a keyring', () => thrownBy(startFastifyWith({}))],
    ['Fastify with a misspelt option', () => thrownBy(startFastifyWith({ keyring, limits: {} }))],
    ['a misspelt route of Fastify', () => thrownBy(startFastifyWith({ keyring }, { scope: 'orders:read' }))],
    [
      'Fastify without idempotency',
      () => thrownBy(startFastifyWith({ keyring }, { idempotencyRequired: true })),
    ],
    ['a route with public as a string', () => thrownBy(startFastifyWith({ keyring }, { public: 'yes' }))],
    [
      'a public route with scopes',
      () => thrownBy(startFastifyWith({ keyring }, { public: true, scopes: ['a'] })),
    ],
    ['an invalid limiter', () => thrownBy(startFastifyWith({ keyring, limiter: nowhere }))],
    ['an invalid reporter', () => thrownBy(startFastifyWith({ keyring, usage: nowhere }))],
  ]
}
