import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import {
  type CanActivate,
  type CustomDecorator,
  createParamDecorator,
  type DynamicModule,
  type ExecutionContext,
  HttpException,
  type InjectionToken,
  Module,
  type OnApplicationShutdown,
  SetMetadata,
} from '@nestjs/common'
import { APP_GUARD, Reflector } from '@nestjs/core'
import { claimRequest, idempotencyHeader, requireIdempotency } from './idempotency/gate.ts'
import type { Idempotency } from './idempotency/idempotent.ts'
import type { Keyring } from './keyring/keyring.ts'
import { readCost } from './limits/cost.ts'
import { isOver } from './protect/answer-begins.ts'
import { Gate } from './protect/gate.ts'
import { type GateOptions, readScopes } from './protect/gate-options.ts'
import { holdResponse, replayAnswer } from './protect/hold-response.ts'
import { headerValues, type ParsedRequest, readParsedBody } from './protect/node-request.ts'
import { type HttpAnswer, refusedBehind } from './protect/passage.ts'
import type { Valid } from './verify/verdict.ts'

/** What the platform hands to a route: `express.Request`, or `FastifyRequest`. */
// biome-ignore lint/suspicious/noExplicitAny: which of the two the application knows.
export type KeyrailRequest = any

/** What protects an application. */
export interface KeyrailModuleOptions extends GateOptions<KeyrailRequest> {
  keyring: Pick<Keyring, 'verify'>
  /** A request with an `Idempotency-Key` is executed once, and its repetition answered as it was. */
  idempotency?: Idempotency | undefined
}

/** The same from a factory, which may wait and be given what the application provides. */
export interface KeyrailModuleAsyncOptions {
  imports?: DynamicModule['imports']
  inject?: InjectionToken[]
  /** Makes the options, once, when the application starts. */
  // biome-ignore lint/suspicious/noExplicitAny: what is injected is known to the tokens alone.
  useFactory: (...injected: any[]) => KeyrailModuleOptions | Promise<KeyrailModuleOptions>
}

/** A request of Express, or of Fastify with Node's own inside. */
interface PlatformRequest extends ParsedRequest {
  raw?: IncomingMessage
  originalUrl?: string
  apiKey?: Valid
}
/** Both platforms have it. */
interface PlatformResponse {
  raw?: ServerResponse
  header(name: string, value: string): unknown
  getHeaders(): OutgoingHttpHeaders
  /** Of Fastify: it is answered past the framework. */
  hijack?(): unknown
}

const PUBLIC = 'keyrail:public'
const SCOPES = 'keyrail:scopes'
const OPTIONAL = 'keyrail:optional'
const COST = 'keyrail:cost'
const IDEMPOTENCY_REQUIRED = 'keyrail:idempotencyRequired'
const OPTIONS = Symbol('keyrail:options')

/** Opens a route, or all of a controller, to requests without a key. */
export const Public = (): CustomDecorator => SetMetadata(PUBLIC, true)
/** Lets requests without a key pass, to a route or to all of a controller; a key that is sent is judged. */
export const OptionalKey = (): CustomDecorator => SetMetadata(OPTIONAL, true)
/** Scopes that the key must have, all of them; those of the controller and of the route. */
export const Scopes = (...scopes: string[]): CustomDecorator => SetMetadata(SCOPES, readScopes(scopes))
/** What a request takes of every limit, 0 to 1,000. */
export const Cost = (cost: number): CustomDecorator => SetMetadata(COST, readCost(cost))
/** Refuses requests without `Idempotency-Key`, of a route or of all of a controller. */
export const IdempotencyRequired = (): CustomDecorator => SetMetadata(IDEMPOTENCY_REQUIRED, true)
/** The key of the request; undefined on a public route, and without one where it is optional. */
export const ApiKey: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Valid | undefined =>
    context.switchToHttp().getRequest<PlatformRequest>().apiKey,
)

/** Protects every route of the application that is not `@Public()`, on Express and on Fastify. */
export class KeyrailGuard implements CanActivate, OnApplicationShutdown {
  readonly #gate: Gate<KeyrailRequest>
  readonly #opened: readonly unknown[]
  readonly #idempotency: Idempotency | undefined
  readonly #reflector: Reflector

  constructor({ keyring, idempotency, ...options }: KeyrailModuleOptions, reflector: Reflector) {
    this.#gate = new Gate<KeyrailRequest>('KeyrailModule', keyring, options)
    if (idempotency !== undefined) requireIdempotency(idempotency)
    this.#idempotency = idempotency
    this.#opened = [idempotency, options.usage, keyring]
    this.#reflector = reflector
  }

  /** Closes what the application was given: it would keep the process alive, and what it still holds be lost. */
  async onApplicationShutdown(): Promise<void> {
    for (const each of this.#opened) await (each as Partial<Pick<Keyring, 'close'>> | undefined)?.close?.()
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const places = [context.getHandler(), context.getClass()]
    if (this.#reflector.getAllAndOverride<boolean>(PUBLIC, places) === true) return true
    // What is no HTTP request has no key.
    if (context.getType() !== 'http') return false
    const http = context.switchToHttp()
    const [request, response] = [http.getRequest<PlatformRequest>(), http.getResponse<PlatformResponse>()]
    const node = nodeRequest(request)
    const { key, headers, refusal } = await this.#gate.admit({
      exchange: node,
      rawHeaders: node.rawHeaders,
      request: http.getRequest<KeyrailRequest>(),
      route: {
        scopes: places.flatMap(
          place => this.#reflector.get<readonly string[] | undefined>(SCOPES, place) ?? [],
        ),
        cost: this.#reflector.getAllAndOverride<number | undefined>(COST, places),
        optional: this.#reflector.getAllAndOverride<boolean | undefined>(OPTIONAL, places),
      },
    })
    if (refusal !== undefined) throw exceptionOf(response, refusal)
    setHeaders(response, headers)
    if (key === undefined) return true
    request.apiKey = key
    const required = this.#reflector.getAllAndOverride<boolean | undefined>(IDEMPOTENCY_REQUIRED, places)
    if (this.#idempotency !== undefined) {
      return this.#claim(this.#idempotency, key, request, response, required)
    }
    if (required) throw new TypeError('IdempotencyRequired needs idempotency')
    return true
  }

  async #claim(
    idempotency: Idempotency,
    key: Valid,
    request: PlatformRequest,
    response: PlatformResponse,
    required: boolean | undefined,
  ): Promise<boolean> {
    const node = nodeRequest(request)
    const verdict = await claimRequest(idempotency, {
      exchange: node,
      key,
      method: node.method ?? 'GET',
      target: request.originalUrl ?? node.url ?? '/',
      idempotencyKeys: headerValues(node.rawHeaders, idempotencyHeader),
      readBody: () => readParsedBody(request, node),
      required,
    })
    if (isOver(nodeResponse(response))) {
      if (verdict?.verdict === 'execute') await verdict.claim.release()
      return new Promise(() => {})
    }
    if (verdict?.verdict === 'refuse') throw exceptionOf(response, refusedBehind(node, verdict.problem))
    if (verdict?.verdict === 'replay') {
      response.hijack?.()
      const past = nodeResponse(response)
      // What Fastify holds for its own answer, such as the limits.
      for (const [name, value] of Object.entries(response.getHeaders())) {
        if (value !== undefined) past.setHeader(name, value)
      }
      replayAnswer(past, verdict.answer)
      // It is answered, so nothing that Nest would do from here on is to happen, its filters included.
      return new Promise(() => {})
    }
    if (verdict?.verdict === 'execute') {
      holdResponse(nodeResponse(response), idempotency.maxBodyBytes, verdict.claim)
    }
    return true
  }
}

/** With `imports: [KeyrailModule.forRoot({ keyring })]` every route of the application needs a key. */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class.
export class KeyrailModule {
  /** For `imports` of the module of the application. */
  static forRoot(options: KeyrailModuleOptions): DynamicModule {
    return KeyrailModule.forRootAsync({ useFactory: () => options })
  }

  /** For `imports`, where the options are made by a factory. */
  static forRootAsync({ imports = [], inject = [], useFactory }: KeyrailModuleAsyncOptions): DynamicModule {
    return {
      module: KeyrailModule,
      imports,
      providers: [
        { provide: OPTIONS, inject, useFactory },
        {
          provide: APP_GUARD,
          inject: [OPTIONS, Reflector],
          useFactory: (options: KeyrailModuleOptions, reflector: Reflector) =>
            new KeyrailGuard(options, reflector),
        },
      ],
    }
  }
}
Module({})(KeyrailModule)

/** On Express the request is Node's own. */
const nodeRequest = (request: PlatformRequest): IncomingMessage =>
  request.raw ?? (request as unknown as IncomingMessage)
const nodeResponse = (response: PlatformResponse): ServerResponse =>
  response.raw ?? (response as unknown as ServerResponse)

/** Thrown, so that the filters of the application see it like any other. */
function exceptionOf(response: PlatformResponse, { status, headers, body }: HttpAnswer): HttpException {
  setHeaders(response, headers)
  return new HttpException({ ...body }, status)
}

function setHeaders(response: PlatformResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.header(name, value)
}
