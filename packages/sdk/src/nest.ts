import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import {
  type CanActivate,
  createParamDecorator,
  type DynamicModule,
  type ExecutionContext,
  HttpException,
  type InjectionToken,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common'
import { APP_GUARD, MetadataScanner, ModulesContainer, Reflector } from '@nestjs/core'
import { answerTokens, headerOf, type MakeEmbedHandler } from './embed/handler.ts'
import {
  asksForClaim,
  claimRequest,
  type IdempotencyOf,
  idempotencyHeader,
  requireIdempotency,
} from './idempotency/gate.ts'
import type { Idempotency } from './idempotency/idempotent.ts'
import type { Keyring } from './keyring/keyring.ts'
import { afterAnswer, isOver } from './protect/answer-begins.ts'
import { exchangeOf, type HttpAnswer } from './protect/exchange.ts'
import { Gate } from './protect/gate.ts'
import type { GateOptions } from './protect/gate-options.ts'
import { holdResponse } from './protect/hold-response.ts'
import { httpOf } from './protect/nest-http.ts'
import { marksOf, type RouteMarks } from './protect/nest-marks.ts'
import { headerValues, type ParsedRequest, readParsedBody } from './protect/node-request.ts'
import type { KeyringOf } from './protect/parts.ts'
import { refusedBehind } from './protect/passage.ts'
import { replayAnswer } from './protect/replay-answer.ts'
import type { Valid, Verdict } from './verify/verdict.ts'

export { Cost, IdempotencyRequired, OptionalKey, Public, Scopes } from './protect/nest-marks.ts'

/** The request that the platform passes to a route: `express.Request` or `FastifyRequest`. */
// biome-ignore lint/suspicious/noExplicitAny: only the application knows which of the two it is.
export type KeyrailRequest = any

/** Options of `KeyrailModule.forRoot`. */
export interface KeyrailModuleOptions extends GateOptions<KeyrailRequest> {
  keyring: KeyringOf
  /** Executes a request with an `Idempotency-Key` once, and answers a repetition with the first answer. */
  idempotency?: IdempotencyOf | undefined
}

/** Options of `KeyrailModule.forRootAsync`: a factory, and what Nest injects into it. */
export interface KeyrailModuleAsyncOptions {
  imports?: DynamicModule['imports']
  inject?: InjectionToken[]
  /** Makes the options once, when the application starts. May return a promise. */
  // biome-ignore lint/suspicious/noExplicitAny: only the tokens know the injected types.
  useFactory: (...injected: any[]) => KeyrailModuleOptions | Promise<KeyrailModuleOptions>
}

/** A request of Express, or of Fastify with Node's request inside. */
interface PlatformRequest extends ParsedRequest {
  raw?: IncomingMessage
  originalUrl?: string
  ip?: string
  apiKey?: Valid
  keyrail?: Verdict
}
/** What both platforms have in common. */
interface PlatformResponse {
  raw?: ServerResponse
  header(name: string, value: string): unknown
  getHeaders(): OutgoingHttpHeaders
  /** Fastify only: the answer is sent without the framework. */
  hijack?(): unknown
}

const OPTIONS = Symbol('keyrail:options')
/** Injects the key of the request: undefined on a public route, or if none was sent where it is optional. */
export const ApiKey: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Valid | undefined =>
    httpOf<PlatformRequest, PlatformResponse>(context)?.request.apiKey,
)

/** Protects every route that is not `@Public()`, on Express and Fastify. */
class KeyrailGuard implements CanActivate, OnModuleInit, OnApplicationShutdown {
  readonly #gate: Gate<KeyrailRequest>
  readonly #opened: readonly unknown[]
  readonly #idempotency: Idempotency | undefined
  readonly #reflector: Reflector
  readonly #modules: ModulesContainer

  constructor(
    { keyring, idempotency, ...options }: KeyrailModuleOptions,
    reflector: Reflector,
    modules: ModulesContainer,
  ) {
    this.#gate = new Gate<KeyrailRequest>('KeyrailModule', keyring, options)
    this.#idempotency = idempotency && requireIdempotency(idempotency)
    this.#opened = [idempotency, options.usage, keyring]
    this.#reflector = reflector
    this.#modules = modules
  }

  /** @throws TypeError naming a route whose decorators cannot be met, so that the application does not start */
  onModuleInit(): void {
    const scanner = new MetadataScanner()
    for (const { metatype } of [...this.#modules.values()].flatMap(each => [...each.controllers.values()])) {
      if (typeof metatype !== 'function') continue
      for (const name of scanner.getAllMethodNames(metatype.prototype)) {
        try {
          this.#checkMarks(marksOf(this.#reflector, [metatype.prototype[name], metatype]))
        } catch (error) {
          throw new TypeError(`${metatype.name}.${name}: ${(error as Error).message}`, { cause: error })
        }
      }
    }
  }

  #checkMarks({ isPublic, isDemanded, idempotencyRequired, ...route }: RouteMarks): void {
    if (isPublic && isDemanded) throw new TypeError('a public route cannot demand anything of a key')
    if (isPublic) return
    this.#gate.checkRoute(route)
    if (idempotencyRequired && this.#idempotency === undefined) {
      throw new TypeError('IdempotencyRequired needs idempotency')
    }
  }

  /** Closes the keyring and the other parts: they would keep the process alive, and lose what they still hold. */
  async onApplicationShutdown(): Promise<void> {
    for (const each of this.#opened) await (each as Partial<Pick<Keyring, 'close'>> | undefined)?.close?.()
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const marks = marksOf(this.#reflector, [context.getHandler(), context.getClass()])
    if (marks.isPublic && !marks.isDemanded) return true
    // Only HTTP requests have a key.
    const http = httpOf<PlatformRequest, PlatformResponse>(context)
    if (http === null) return false
    const { request, response, isGraphql } = http
    // One request may call many resolvers, each of which would claim the same key.
    if (isGraphql && marks.idempotencyRequired)
      throw new TypeError('a resolver cannot have IdempotencyRequired')
    const node = nodeRequest(request)
    const exchange = exchangeOf(node)
    const { key, headers, refusal, verdict } = await this.#gate.admit({
      exchange,
      rawHeaders: node.rawHeaders,
      request,
      // By the trust in proxies that the platform is set to.
      peer: () => request.ip,
      route: marks,
      claims: !isGraphql && this.#asksForClaim(node, marks),
      answered: work => afterAnswer(nodeResponse(response), work),
    })
    if (refusal !== undefined) throw exceptionOf(response, refusal)
    setHeaders(response, headers)
    if (verdict !== undefined) request.keyrail = verdict
    const shown = exchange.show(request.apiKey, key)
    if (shown === undefined) delete request.apiKey
    else request.apiKey = shown
    if (key === undefined || this.#idempotency === undefined || isGraphql || verdict !== undefined)
      return true
    return this.#claim(this.#idempotency, key, request, response, marks.idempotencyRequired)
  }

  #asksForClaim({ method = 'GET', headers }: IncomingMessage, { idempotencyRequired }: RouteMarks): boolean {
    const hasKey = headers[idempotencyHeader] !== undefined
    return this.#idempotency !== undefined && asksForClaim(method, hasKey, idempotencyRequired)
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
      exchange: exchangeOf(node),
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
    if (verdict?.verdict === 'refuse')
      throw exceptionOf(response, refusedBehind(exchangeOf(node), verdict.problem))
    if (verdict?.verdict === 'replay') {
      replayAnswer(takeResponse(response), verdict.answer)
      // Never resolves, so that Nest and its filters do nothing more with this answered request.
      return new Promise(() => {})
    }
    if (verdict?.verdict === 'execute') {
      holdResponse(nodeResponse(response), idempotency.maxBodyBytes, verdict.claim, {
        before: response.getHeaders(),
      })
    }
    return true
  }
}

/** With `imports: [KeyrailModule.forRoot({ keyring })]` every route of the application needs a key. */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class.
export class KeyrailModule {
  /** For `imports` of the application's root module. */
  static forRoot(options: KeyrailModuleOptions): DynamicModule {
    return KeyrailModule.forRootAsync({ useFactory: () => options })
  }

  /** The same with options from a factory. */
  static forRootAsync({ imports = [], inject = [], useFactory }: KeyrailModuleAsyncOptions): DynamicModule {
    return {
      module: KeyrailModule,
      imports,
      providers: [
        { provide: OPTIONS, inject, useFactory },
        {
          provide: APP_GUARD,
          inject: [OPTIONS, Reflector, ModulesContainer],
          useFactory: (...parts: ConstructorParameters<typeof KeyrailGuard>) => new KeyrailGuard(...parts),
        },
      ],
    }
  }
}
Module({})(KeyrailModule)

/** On Express the request is Node's request. */
const nodeRequest = (request: PlatformRequest): IncomingMessage =>
  request.raw ?? (request as unknown as IncomingMessage)
const nodeResponse = (response: PlatformResponse): ServerResponse =>
  response.raw ?? (response as unknown as ServerResponse)

/** To answer without the framework, with the headers that Fastify holds for its own answer, such as the limits. */
function takeResponse(response: PlatformResponse): ServerResponse {
  response.hijack?.()
  const past = nodeResponse(response)
  for (const [name, value] of Object.entries(response.getHeaders())) {
    if (value !== undefined) past.setHeader(name, value)
  }
  return past
}

/**
 * Answers the pages that ask for embed tokens: a function for a method with `@Public()` and `@Post()`, which passes it `@Req()`
 * and `@Res()`.
 */
export const embedHandler: MakeEmbedHandler<
  KeyrailRequest,
  (request: KeyrailRequest, response: unknown) => Promise<void>
> = (...given) => {
  const answer = answerTokens(...given)
  return async (request, response) => {
    const node = nodeRequest(request)
    const { status, headers, body } = await answer(request, node.method ?? '', headerOf(node))
    const past = response as PlatformResponse
    if (!isOver(nodeResponse(past))) takeResponse(past).writeHead(status, headers).end(JSON.stringify(body))
  }
}

/** Thrown, so that the application's filters handle it like any other exception. */
function exceptionOf(response: PlatformResponse, { status, headers, body }: HttpAnswer): HttpException {
  setHeaders(response, headers)
  return new HttpException({ ...body }, status)
}

function setHeaders(response: PlatformResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.header(name, value)
}
