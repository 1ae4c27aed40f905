import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Controller, Module, Post, Req, Res } from '@nestjs/common'
import { ExternalContextCreator, NestFactory } from '@nestjs/core'
import { ApiKey, KeyrailModule, type KeyrailRequest, Public, Scopes } from '../src/nest.ts'
import { createTestKeyring } from '../src/testing.ts'
import type { Valid } from '../src/verify/verdict.ts'
import { decorate } from './nest-api.ts'

/** Calls the parameter decorators of a resolver, as @nestjs/graphql does. */
const parameters = { exchangeKeyForValue: () => null }
const metadataKey = '__routeArguments__'

class Payments {
  payments(apiKey: Valid) {
    return apiKey.keyId
  }
  refund() {
    return 'refunded'
  }
  version() {
    return 'open'
  }
}
const mark = (name: keyof Payments, ...decorators: MethodDecorator[]) => {
  const descriptor = Object.getOwnPropertyDescriptor(Payments.prototype, name) as PropertyDescriptor
  for (const each of decorators) each(Payments.prototype, name, descriptor)
}
ApiKey()(Payments.prototype, 'payments', 0)
mark('refund', Scopes('refund'))
mark('version', Public())

type Resolver = (parent: unknown, args: unknown, context: unknown, info: unknown) => Promise<unknown>

/** A resolver runs in the context that @nestjs/graphql makes for it: Nest's own, of the type `graphql`. */
async function startGraphql(contextOf: (req: unknown, res: unknown) => unknown) {
  const keyring = createTestKeyring()
  const resolvers = new Map<string, Resolver>()
  class Endpoint {
    async graphql(req: KeyrailRequest, res: { json(body: unknown): unknown }) {
      const name = new URL(req.url, 'http://a').searchParams.get('field') ?? ''
      const answer = await resolvers
        .get(name)?.(undefined, {}, contextOf(req, res), {})
        .then(
          data => ({ data }),
          error => ({ status: error.getStatus?.() ?? 500, error: error.response ?? error.message }),
        )
      res.json(answer)
    }
  }
  decorate(Endpoint, { graphql: [[Post('/graphql'), Public()], Req(), Res()] })
  Controller()(Endpoint)
  class App {}
  Module({ imports: [KeyrailModule.forRoot({ keyring })], controllers: [Endpoint] })(App)
  const app = await NestFactory.create(App, { logger: false, forceCloseConnections: true })
  after(() => app.close())
  const contexts = app.get(ExternalContextCreator)
  const payments = new Payments()
  for (const name of ['payments', 'refund', 'version'] as const)
    resolvers.set(
      name,
      contexts.create(
        payments,
        payments[name] as never,
        name,
        metadataKey,
        parameters,
        undefined,
        undefined,
        undefined,
        'graphql',
      ) as Resolver,
    )
  await app.listen(0, '127.0.0.1')
  const url = await app.getUrl()
  const ask = async (field: string, key?: string) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const response = await fetch(`${url}/graphql?field=${field}`, { method: 'POST', headers })
    return (await response.json()) as { status?: number; data?: unknown }
  }
  return { keyring, ask }
}

for (const [driver, contextOf] of [
  ['Apollo', (req: unknown, res: unknown) => ({ req, res })],
  ['a context with the request alone', (req: unknown) => ({ req })],
  ['Mercurius', (request: unknown, res: object) => ({ reply: Object.assign(res, { request }) })],
] as const)
  test(`Nest: a resolver needs a key, in the context of ${driver}`, async () => {
    const { keyring, ask } = await startGraphql(contextOf as never)
    const { key, keyId } = keyring.issue()
    assert.equal((await ask('payments')).status, 401)
    assert.deepEqual(await ask('payments', key), { data: keyId })
    assert.equal((await ask('refund', key)).status, 403)
    assert.deepEqual(await ask('refund', keyring.issue({ scopes: ['refund'] }).key), { data: 'refunded' })
    assert.deepEqual(await ask('version'), { data: 'open' })
  })

test('Nest: a resolver without a request, as of a subscription, is refused', async () => {
  const { keyring, ask } = await startGraphql(() => ({ connectionParams: {} }))
  assert.equal((await ask('refund', keyring.issue().key)).status, 403)
})
