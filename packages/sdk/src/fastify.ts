import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { refuseUnknown } from './http/connection-options.ts'
import { readBoolean } from './http/option-values.ts'
import { claimRequest, idempotencyHeader, requireIdempotency } from './idempotency/gate.ts'
import type { Idempotency } from './idempotency/idempotent.ts'
import type { Keyring } from './keyring/keyring.ts'
import { isOver } from './protect/answer-begins.ts'
import { Gate } from './protect/gate.ts'
import { type GateOptions, type RouteRequirements, readRoute } from './protect/gate-options.ts'
import { holdResponse } from './protect/hold-response.ts'
import { headerValues, type ParsedRequest, readParsedBody } from './protect/node-request.ts'
import { type HttpAnswer, refusedBehind } from './protect/passage.ts'
import type { Valid } from './verify/verdict.ts'

/** What protects an instance. */
export interface KeyrailPluginOptions extends GateOptions<FastifyRequest> {
  keyring: Pick<Keyring, 'verify'>
  /** A request with an `Idempotency-Key` is executed once, and its repetition answered as it was. */
  idempotency?: Idempotency | undefined
}

/** What a route may say in its `config`. */
export interface KeyrailRouteConfig extends RouteRequirements {
  /** Whether the route is open to requests without a key. */
  public?: boolean | undefined
  /** Whether a request without `Idempotency-Key` is refused. */
  idempotencyRequired?: boolean | undefined
}

const known: { readonly [Name in keyof Required<KeyrailRouteConfig>]: true } = {
  scopes: true,
  cost: true,
  optional: true,
  public: true,
  idempotencyRequired: true,
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of this request; on a route that is public, or without one where it is optional, there is `null`. */
    apiKey: Valid
  }
  interface FastifyContextConfig {
    keyrail?: KeyrailRouteConfig
  }
}

const noKey = null as unknown as Valid

/**
 * Protects every route of the instance that it is registered on, and of those below: `request.apiKey`. Register it in
 * a plugin of your own to protect a part. A route says more in `config: { keyrail: { scopes, cost, public } }`.
 */
const protect: FastifyPluginAsync<KeyrailPluginOptions> = async (app: FastifyInstance, options) => {
  const { keyring, idempotency, ...more } = options
  const gate = new Gate<FastifyRequest>('keyrailPlugin', keyring, more)
  if (idempotency !== undefined) requireIdempotency(idempotency)
  app.decorateRequest('apiKey', noKey)

  const checked = new WeakSet<KeyrailRouteConfig>()
  const configOf = ({ config }: Pick<RouteOptions, 'config'>): KeyrailRouteConfig => {
    const said = config?.keyrail ?? {}
    if (checked.has(said)) return said
    refuseUnknown('config.keyrail', said, known)
    readRoute(said)
    for (const name of ['public', 'idempotencyRequired'] as const) readBoolean(name, said[name] ?? false)
    if (said.idempotencyRequired === true && idempotency === undefined) {
      throw new TypeError('idempotencyRequired needs idempotency')
    }
    checked.add(said)
    return said
  }
  // Routes that were there before show their mistakes with their requests.
  app.addHook('onRoute', route => {
    configOf(route)
  })

  app.addHook('onRequest', async (request, reply) => {
    const config = configOf(request.routeOptions)
    if (config.public === true) return
    const { raw } = request
    const { key, headers, refusal } = await gate.admit({
      exchange: raw,
      rawHeaders: raw.rawHeaders,
      request,
      route: config,
    })
    if (refusal !== undefined) return sendAnswer(reply, refusal)
    request.apiKey = key ?? noKey
    reply.headers(headers)
  })

  if (idempotency === undefined) return
  app.addHook('preHandler', async (request, reply) => {
    const { apiKey, method, raw } = request
    const { public: open, idempotencyRequired } = configOf(request.routeOptions)
    if (open === true || apiKey === noKey) return
    const verdict = await claimRequest(idempotency, {
      exchange: raw,
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
    if (verdict?.verdict === 'refuse') return sendAnswer(reply, refusedBehind(raw, verdict.problem))
    if (verdict?.verdict === 'replay') {
      const { status, headers, body } = verdict.answer
      return reply.code(status).headers(headers).send(Buffer.from(body))
    }
    if (verdict?.verdict === 'execute') {
      holdResponse(reply.raw, idempotency.maxBodyBytes, verdict.claim)
    }
  })
}

const sendAnswer = (reply: FastifyReply, { status, headers, body }: HttpAnswer): FastifyReply =>
  reply.code(status).headers(headers).send(JSON.stringify(body))

/** What `fastify-plugin` says of a plugin: its hooks are those of the instance that it is registered on. */
export const keyrailPlugin: FastifyPluginAsync<KeyrailPluginOptions> = Object.assign(protect, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: '@keyrail/sdk',
  [Symbol.for('plugin-meta')]: { name: '@keyrail/sdk', fastify: '5.x' },
})
