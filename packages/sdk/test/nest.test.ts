import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Get, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createIdempotency } from '../src/idempotency/idempotent.ts'
import { ApiKey, Cost, IdempotencyRequired, KeyrailModule, Public, Scopes } from '../src/nest.ts'
import { createTestKeyring } from '../src/testing.ts'
import { createUsageReporter } from '../src/usage/reporter.ts'
import type { Valid } from '../src/verify/verdict.ts'
import { testEmbed } from './embed-suite.ts'
import { testGate } from './gate-suite.ts'
import { decorate, type MakeNest, nestApi, nestEmbed, nestGate, startNest } from './nest-api.ts'
import { testProtectedApi } from './protected-api.ts'
import { startKeyrail } from './service.ts'

const make: MakeNest = module =>
  NestFactory.create(module, {
    logger: false,
    forceCloseConnections: true,
    abortOnError: false,
  })

await testProtectedApi('Nest on Express', nestApi(make))
testGate('Nest on Express', nestGate(make))
testEmbed('Nest on Express', nestEmbed(make))

test('Nest: every route of every controller needs a key, unless it is public', async () => {
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
  const url = await startNest(make, [Open, Closed], { keyring })
  assert.equal(await (await fetch(`${url}/open`)).text(), 'undefined')
  assert.equal((await fetch(`${url}/closed`)).status, 401)
  const answer = await fetch(`${url}/closed`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(await answer.text(), keyId)
})

test('Nest: a wrong option is an error at startup, never an open route', async () => {
  const keyring = createTestKeyring()
  for (const mistake of [{ keyring: undefined }, { keyring, scope: ['admin'] }] as never[]) {
    class Api {}
    Module({ imports: [KeyrailModule.forRoot(mistake)] })(Api)
    await assert.rejects(NestFactory.create(Api, { logger: false, abortOnError: false }), TypeError)
  }
})

test('Nest: the application closes the parts after its last request is answered', async () => {
  const { issue, openKeyring, connection, patient } = await startKeyrail()
  const { key, id } = await issue()
  const keyring = await openKeyring()
  const usage = createUsageReporter(connection)
  const idempotency = createIdempotency(patient)
  class Api {
    slow() {
      begun.resolve()
      return answer.promise
    }
  }
  const [begun, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
  decorate(Api, { slow: [[Get('/slow')]] })
  class App {}
  Module({ controllers: [Api], imports: [KeyrailModule.forRoot({ keyring, usage, idempotency })] })(App)
  const app = await NestFactory.create(App, { logger: false })
  await app.listen(0, '127.0.0.1')
  const headers = { authorization: `Bearer ${key}`, connection: 'close' }
  const asked = fetch(`${await app.getUrl()}/slow`, { headers })
  await begun.promise
  const closing = app.close()
  assert.equal(keyring.verify(key).code, 'valid')
  answer.resolve(id)
  assert.equal(await (await asked).text(), id)
  await closing
  assert.equal(keyring.verify(key).code, 'not_ready')
  assert.deepEqual([usage.stats().reported, usage.stats().pending], [1, 0])
})

test('Nest: a route that demands something of a key cannot be public', async () => {
  const keyring = createTestKeyring()
  const build = async (ofController: ClassDecorator, ...ofRoute: MethodDecorator[]) => {
    class Api {
      route() {
        return 'passed'
      }
    }
    decorate(Api, { route: [[Get('/route'), ...ofRoute]] })
    ofController(Api)
    return startNest(make, [Api], { keyring })
  }
  const refused = /Api.route: a public route cannot demand/
  await assert.rejects(
    build(() => {}, Public(), Scopes('admin')),
    refused,
  )
  await assert.rejects(build(Public(), Scopes('admin')), refused)
  const opened = await build(Scopes('admin'), Public())
  assert.equal((await fetch(`${opened}/route`, { headers: { connection: 'close' } })).status, 200)
})

test('Nest: an invalid cost is an error where it is declared', () => {
  assert.throws(() => Cost(-1), /cost must be an integer/)
})

test('Nest: a route may need an Idempotency-Key, and a controller too', async () => {
  class Payments {
    pay() {
      return 'paid'
    }
    look() {
      return 'looked'
    }
  }
  decorate(Payments, { pay: [[Post('/pay')]], look: [[Get('/look')]] })
  IdempotencyRequired()(Payments)
  class Orders {
    order() {
      return 'ordered'
    }
    cancel() {
      return 'cancelled'
    }
  }
  decorate(Orders, { order: [[Post('/order'), IdempotencyRequired()]], cancel: [[Post('/cancel')]] })
  const { valid, patient } = await startKeyrail()
  const key = await valid()
  const keyring = { verify: () => key }
  const ask = async (url: string, method = 'POST') => {
    const answer = await fetch(url, { method, headers: { authorization: 'Bearer x' } })
    return [answer.status, /"code":"(\w+)"/.exec(await answer.text())?.[1]]
  }
  const url = await startNest(make, [Payments, Orders], { keyring, idempotency: createIdempotency(patient) })
  for (const path of ['/pay', '/order']) {
    assert.deepEqual(await ask(url + path), [400, 'idempotency_key_missing'])
  }
  assert.deepEqual(await ask(`${url}/look`, 'GET'), [200, undefined])
  assert.deepEqual(await ask(`${url}/cancel`), [201, undefined])
  await assert.rejects(
    startNest(make, [Payments], { keyring }),
    /Payments.pay: IdempotencyRequired needs idempotency/,
  )
})
