import 'reflect-metadata'
import { after } from 'node:test'
import {
  All,
  Body,
  Controller,
  Get,
  Header,
  HttpException,
  type INestApplication,
  Module,
  Post,
  Req,
  Res,
  type Type,
} from '@nestjs/common'
import {
  ApiKey,
  Cost,
  embedHandler,
  KeyrailModule,
  type KeyrailModuleOptions,
  type KeyrailRequest,
  Public,
  Scopes,
} from '../src/nest.ts'
import { createTestKeyring } from '../src/testing.ts'
import type { Valid } from '../src/verify/verdict.ts'
import type { BuildEmbed } from './embed-suite.ts'
import type { BuildGate } from './gate-suite.ts'
import type { BuildApi } from './protected-api.ts'

/** Makes an application on the tested platform. */
export type MakeNest = (module: Type) => Promise<INestApplication>

/** What replies of Express and Fastify have in common. */
interface Reply {
  header(name: string, value: string): unknown
  status(code: number): unknown
}

/** Calls decorators as functions, because Node has no decorator syntax. */
export function decorate<T extends object>(
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

/** @returns its address; it ends with the test file */
export async function startNest(
  make: MakeNest,
  controllers: Type[],
  options: KeyrailModuleOptions,
): Promise<string> {
  class App {}
  Module({ controllers, imports: [KeyrailModule.forRootAsync({ useFactory: async () => options })] })(App)
  const app = await make(App)
  after(() => app.close())
  await app.listen(0, '127.0.0.1')
  return app.getUrl()
}

/** The same API on the given platform. */
export const nestApi =
  (make: MakeNest): BuildApi =>
  async ({ work, ...options }) => {
    class Api {
      orders(apiKey: Valid) {
        return { tenantId: apiKey.tenantId }
      }
      write() {
        return 'wrote'
      }
      async pay(body: unknown, reply: Reply) {
        const done = await work(body)
        reply.header('location', `/payments/${done.calls}`)
        return done
      }
      async broken(body: unknown) {
        await work(body)
        throw new HttpException('broken', 503)
      }
      async large(body: unknown, reply: Reply) {
        await work(body)
        reply.status(200)
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
    return startNest(make, [Api], options)
  }

export const nestGate =
  (make: MakeNest): BuildGate =>
  async ({ keyring, idempotency, options }) => {
    class Api {
      plain(apiKey: Valid | undefined) {
        return { keyId: apiKey?.keyId ?? null }
      }
      scoped(apiKey: Valid | undefined) {
        return { keyId: apiKey?.keyId ?? null }
      }
      once(apiKey: Valid | undefined) {
        return { keyId: apiKey?.keyId ?? null }
      }
    }
    decorate(Api, {
      plain: [[Get('/plain')], ApiKey()],
      scoped: [[Get('/scoped'), Scopes('admin')], ApiKey()],
      once: [[Post('/once')], ApiKey()],
    })
    return startNest(make, [Api], { keyring, idempotency, ...options })
  }

export const nestEmbed =
  (make: MakeNest): BuildEmbed =>
  async ({ embed, customerOf, options }) => {
    const check = ({ headers }: KeyrailRequest) => customerOf(headers['x-session'])
    const answer = embedHandler(embed, check, options)
    class Api {
      token(request: KeyrailRequest, response: unknown) {
        return answer(request, response)
      }
    }
    decorate(Api, { token: [[All('/token'), Public()], Req(), Res()] })
    return startNest(make, [Api], { keyring: createTestKeyring() })
  }
