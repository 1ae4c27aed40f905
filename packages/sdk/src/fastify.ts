import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { answerTokens, headerOf, type MakeEmbedHandler, type TokenAnswer } from './embed/handler.ts'
import { refuseUnknown } from './http/connection-options.ts'
import { readBoolean } from './http/option-values.ts'
import { headersToReplay } from './idempotency/exchange-headers.ts'
import {
  asksForClaim,
  claimRequest,
  type IdempotencyOf,
  idempotencyHeader,
  requireIdempotency,
} from './idempotency/gate.ts'
import type { StoredAnswer } from './idempotency/stored-answer.ts'
import { afterAnswer, isOver } from './protect/answer-begins.ts'
import { exchangeOf } from './protect/exchange.ts'
import { Gate } from './protect/gate.ts'
import type { GateOptions, RouteRequirements } from './protect/gate-options.ts'
import { holdResponse } from './protect/hold-response.ts'
import { headerValues, type ParsedRequest, readParsedBody } from './protect/node-request.ts'
import type { KeyringOf } from './protect/parts.ts'
import { refusedBehind } from './protect/passage.ts'
import type { Valid, Verdict } from './verify/verdict.ts'

export { apiKeyOf } from './protect/api-key-of.ts'

/** Options of `keyrailPlugin`. */
export interface KeyrailPluginOptions extends GateOptions<FastifyRequest> {
  keyring: KeyringOf
  /** Executes a request with an `Idempotency-Key` once, and answers a repetition with the first answer. */
  idempotency?: IdempotencyOf | undefined
}

/** A route's `config.keyrail`. */
export interface KeyrailRouteConfig extends RouteRequirements {
  /** Lets requests without a key pass, and does not read a key. */
  public?: boolean | undefined
  /** Refuses requests without `Idempotency-Key` with 400. */
  idempotencyRequired?: boolean | undefined
}

const known: { readonly [Name in keyof Required<KeyrailRouteConfig>]: true } = {
  scopes: true,
  cost: true,
  optional: true,
  public: true,
  idempotencyRequired: true,
}

/** What a route may demand of a key. */
const demands = ['scopes', 'cost', 'idempotencyRequired'] as const

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of this request; undefined on a public route, or if none was sent where it is optional. See `apiKeyOf`. */
    apiKey: Valid | undefined
    /** With the option `shadow` of the keyring: the verdict on the key, which may be a refusal. */
    keyrail: Verdict | undefined
  }
  interface FastifyContextConfig {
    keyrail?: KeyrailRouteConfig
  }
}

/** Marks an instance whose requests have `apiKey`. */
const decorated = Symbol('keyrail:decorated')

/**
 * Protects every route of the instance on which it is registered, and of the plugins below, and sets `request.apiKey`. To
 * protect only some routes, register it in a separate plugin. Routes set `config: { keyrail: { scopes, cost, public } }`.
 */
const protect: FastifyPluginAsync<KeyrailPluginOptions> = async (app: FastifyInstance, options) => {
  const { keyring, idempotency: given, ...more } = options
  const gate = new Gate<FastifyRequest>('keyrailPlugin', keyring, more)
  const idempotency = given === undefined ? undefined : requireIdempotency(given)
  // A part of an application may stand behind a second plugin, with its own demands.
  if (!app.hasDecorator(decorated)) {
    app.decorate(decorated, true).decorateRequest('apiKey', undefined).decorateRequest('keyrail', undefined)
  }

  const checked = new WeakSet<KeyrailRouteConfig>()
  const configOf = ({ config }: Pick<RouteOptions, 'config'>): KeyrailRouteConfig => {
    const settings = config?.keyrail ?? {}
    if (checked.has(settings)) return settings
    refuseUnknown('config.keyrail', settings, known)
    gate.checkRoute(settings)
    for (const name of ['public', 'idempotencyRequired'] as const) readBoolean(name, settings[name] ?? false)
    if (settings.idempotencyRequired === true && idempotency === undefined) {
      throw new TypeError('idempotencyRequired needs idempotency')
    }
    const demanded = demands.find(name => settings[name] !== undefined && settings[name] !== false)
    if (settings.public === true && demanded !== undefined) {
      throw new TypeError(`${demanded} needs a key, which a public route does not read`)
    }
    checked.add(settings)
    return settings
  }
  // The mistakes of routes added before this plugin show with their first request.
  app.addHook('onRoute', route => {
    configOf(route)
  })

  app.addHook('onRequest', async (request, reply) => {
    const config = configOf(request.routeOptions)
    if (config.public === true) return
    const { raw } = request
    const hasIdempotencyKey = raw.headers[idempotencyHeader] !== undefined
    const exchange = exchangeOf(raw)
    const { key, headers, refusal, verdict } = await gate.admit({
      exchange,
      rawHeaders: raw.rawHeaders,
      request,
      // By the option `trustProxy` of the application.
      peer: () => request.ip,
      route: config,
      claims:
        idempotency !== undefined &&
        asksForClaim(request.method, hasIdempotencyKey, config.idempotencyRequired),
      answered: work => afterAnswer(reply.raw, work),
    })
    if (refusal !== undefined) return sendAnswer(reply, refusal)
    request.apiKey = exchange.show(request.apiKey, key)
    if (verdict !== undefined) request.keyrail = verdict
    reply.headers(headers)
  })

  if (idempotency === undefined) return
  app.addHook('preHandler', async (request, reply) => {
    const { apiKey, method, raw } = request
    const { public: open, idempotencyRequired } = configOf(request.routeOptions)
    if (open === true || apiKey === undefined || exchangeOf(raw).isShadow) return
    const verdict = await claimRequest(idempotency, {
      exchange: exchangeOf(raw),
      key: apiKey,
      method,
      target: request.originalUrl,
      idempotencyKeys: headerValues(raw.rawHeaders, idempotencyHeader),
      readBody: () => readParsedBody(request as ParsedRequest, raw),
      required: idempotencyRequired,
    })
    if (isOver(reply.raw)) {
      if (verdict?.verdict === 'execute') await verdict.claim.release()
      return reply
    }
    if (verdict?.verdict === 'refuse')
      return sendAnswer(reply, refusedBehind(exchangeOf(raw), verdict.problem))
    if (verdict?.verdict === 'replay') {
      return replay(reply, verdict.answer)
    }
    if (verdict?.verdict === 'execute') {
      const before = reply.getHeaders() as OutgoingHttpHeaders
      holdResponse(reply.raw, idempotency.maxBodyBytes, verdict.claim, { before })
    }
  })
}

/** Answers the pages that ask for embed tokens, for `app.post`. */
export const embedHandler: MakeEmbedHandler<
  FastifyRequest,
  (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
> = (...given) => {
  const answer = answerTokens(...given)
  return async (request, reply) => sendAnswer(reply, await answer(request, request.method, headerOf(request)))
}

function replay(reply: FastifyReply, { status, headers, body }: StoredAnswer): FastifyReply {
  const all = headersToReplay(headers, reply.getHeader('vary'))
  reply.code(status).headers(all)
  if (body.byteLength === 0) return reply.send()
  const bytes = Buffer.from(body)
  if (reply.hasHeader('content-type')) return reply.send(bytes)
  // Fastify names a type for bytes, but not for a stream.
  return reply.header('content-length', bytes.byteLength).send(new Blob([bytes]).stream())
}

const sendAnswer = (reply: FastifyReply, { status, headers, body }: TokenAnswer): FastifyReply =>
  reply.code(status).headers(headers).send(JSON.stringify(body))

/** Marked as `fastify-plugin` would: its hooks apply to the instance on which it is registered. */
export const keyrailPlugin: FastifyPluginAsync<KeyrailPluginOptions> = Object.assign(protect, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: '@keyrail/sdk',
  [Symbol.for('plugin-meta')]: { name: '@keyrail/sdk', fastify: '5.x' },
})
