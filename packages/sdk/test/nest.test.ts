import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ApiKey, KeyrailModule, Public } from '../src/nest.ts'
import { createTestKeyring } from '../src/testing.ts'
import type { Valid } from '../src/verdict.ts'
import { decorate, type MakeNest, nestApi, startNest } from './nest-api.ts'
import { testProtectedApi } from './protected-api.ts'

const make: MakeNest = module => NestFactory.create(module, { logger: false, forceCloseConnections: true })

await testProtectedApi('Nest on Express', nestApi(make))

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
  const url = await startNest(make, [Open, Closed], { keyring })
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
