import 'reflect-metadata'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Body, Controller, Get, Header, HttpException, Module, Post, Res, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Response } from 'express'
import { ApiKey, Cost, KeyrailModule, type KeyrailModuleOptions, Public, Scopes } from '../src/nest.ts'
import { createTestKeyring } from '../src/testing.ts'
import type { Valid } from '../src/verdict.ts'
import { testProtectedApi } from './protected-api.ts'

/** Decorators are called by hand: this runs as it is written, and Node knows none. */
function decorate<T extends object>(
  controller: Type<T>,
  routes: { [Name in keyof T]?: [MethodDecorator[], ...ParameterDecorator[]] },
): Type<T> {
  for (const [name, marks] of Object.entries(routes) as [
    string,
    [MethodDecorator[], ...ParameterDecorator[]],
  ][]) {
    const [methods, ...parameters] = marks
    const descriptor = Object.getOwnPropertyDescriptor(controller.prototype, name) as PropertyDescriptor
    for (const [at, mark] of parameters.entries()) mark(controller.prototype, name, at)
    for (const mark of methods) mark(controller.prototype, name, descriptor)
  }
  Controller()(controller)
  return controller
}

async function start(controllers: Type[], options: KeyrailModuleOptions): Promise<string> {
  class App {}
  Module({ controllers, imports: [KeyrailModule.forRootAsync({ useFactory: async () => options })] })(App)
  const app = await NestFactory.create(App, { logger: false, forceCloseConnections: true })
  after(() => app.close())
  await app.listen(0, '127.0.0.1')
  return app.getUrl()
}

await testProtectedApi('Nest', async ({ work, ...options }) => {
  class Api {
    orders(apiKey: Valid) {
      return { tenantId: apiKey.tenantId }
    }
    write() {
      return 'wrote'
    }
    async pay(body: unknown, response: Response) {
      const done = await work(body)
      response.location(`/payments/${done.calls}`)
      return done
    }
    async broken(body: unknown) {
      await work(body)
      throw new HttpException('broken', 503)
    }
    async large(body: unknown, response: Response) {
      await work(body)
      response.status(200)
      return 'x'.repeat(2_000)
    }
  }
  const passThrough = Res({ passthrough: true })
  decorate(Api, {
    orders: [[Get('/orders')], ApiKey()],
    write: [[Get('/write'), Scopes('orders:write'), Cost(2), Header('content-type', 'text/plain')]],
    pay: [[Post('/payments')], Body(), passThrough],
    broken: [[Post('/broken')], Body()],
    large: [[Post('/large')], Body(), passThrough],
  })
  return start([Api], options)
})

test('Nest: a public route needs no key, and every other does, of each controller', async () => {
  class Open {
    open(apiKey: Valid | undefined) {
      return `${apiKey}`
    }
  }
  class Closed {
    closed(apiKey: Valid) {
      return apiKey.keyId
    }
  }
  decorate(Open, { open: [[Get('/open'), Public()], ApiKey()] })
  decorate(Closed, { closed: [[Get('/closed')], ApiKey()] })
  const keyring = createTestKeyring()
  const { key, keyId } = keyring.issue()
  const url = await start([Open, Closed], { keyring })
  assert.equal(await (await fetch(`${url}/open`)).text(), 'undefined')
  assert.equal((await fetch(`${url}/closed`)).status, 401)
  const answer = await fetch(`${url}/closed`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(await answer.text(), keyId)
})

test('Nest: a mistake in the set-up is an error at start, never an open route', async () => {
  class Api {}
  Module({ imports: [KeyrailModule.forRoot({ keyring: undefined as never })] })(Api)
  await assert.rejects(NestFactory.create(Api, { logger: false, abortOnError: false }), TypeError)
})
