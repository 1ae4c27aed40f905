import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientAddress, trustsPeer } from '../network/client-address.ts'
import type { TrustedProxies } from '../network/trusted-proxies.ts'
import type { Logger } from '../observe/log.ts'
import { keptAgent } from './user-agent.ts'

/** The source of a request, as logs, sessions and security events keep it. */
export interface Client {
  /** The address before the trusted proxies, in one form; empty for a connection without an address. */
  readonly ip: string
  readonly userAgent: string | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until the request's head has been read. */
    client: Client | null
  }
  interface FastifyInstance {
    /** Which proxies in front of the service are trusted. */
    proxies: TrustedProxies
  }
}

/** Read when the request begins, because a closed socket has no address. */
export function readClients(app: FastifyInstance, proxies: TrustedProxies, log: Pick<Logger, 'warn'>): void {
  app.decorateRequest('client', null)
  app.decorate<TrustedProxies, 'proxies'>('proxies', proxies)
  let isLogged = false
  app.addHook('onRequest', (request, _reply, done) => {
    clientOf(request)
    // Warned once, because everyone can send the header.
    const { remoteAddress } = request.socket
    if (
      !isLogged &&
      request.headers['x-forwarded-for'] !== undefined &&
      !trustsPeer(proxies, remoteAddress)
    ) {
      isLogged = true
      log.warn({ remote: clientOf(request).ip }, proxies === 0 ? untrustedProxy : unknownProxy)
    }
    done()
  })
}

const untrustedProxy =
  'A request has X-Forwarded-For, and SERVICE_TRUST_PROXY is 0: if a proxy of yours wrote it, set SERVICE_TRUST_PROXY, ' +
  'or all callers count as one network.'
const unknownProxy =
  'A request has X-Forwarded-For, and its sender is in no network of SERVICE_TRUST_PROXY: if it is a proxy of yours, add ' +
  'its address, or all callers behind it count as one network.'

/**
 * The client of each connection. Its requests mostly have the same client, and reading it again took 4 % of a rate-limit check.
 */
const seen = new WeakMap<object, { forwarded: unknown; agent: unknown; client: Client }>()

export function clientOf(request: FastifyRequest): Client {
  if (request.client !== null) return request.client
  const { 'x-forwarded-for': forwarded, 'user-agent': agent } = request.headers
  const before = seen.get(request.raw.socket)
  if (before !== undefined && before.forwarded === forwarded && before.agent === agent) {
    request.client = before.client
    return before.client
  }
  const ip = clientAddress(request.socket.remoteAddress, forwarded, request.server.proxies)
  const client = { ip, userAgent: keptAgent(agent) }
  seen.set(request.raw.socket, { forwarded, agent, client })
  request.client = client
  return client
}
