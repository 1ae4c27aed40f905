import type { FastifyInstance, FastifyRequest } from 'fastify'
import { keptAgent } from '../user-agent.ts'

/** From where a request came, as logs, sessions and security events keep it. */
export interface Client {
  /** Past as many proxies as are trusted. */
  readonly ip: string
  readonly userAgent: string | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until the request's head has been read. */
    client: Client | null
  }
}

const ipMax = 64

/** A proxy that passes on what it was told may say anything. */
const keptIp = (ip: string): string => ip.replace(/[^\w.:%-]/g, '').slice(0, ipMax)

/** Looked at when the request begins: a socket that is gone has no address any more. */
export function readClients(app: FastifyInstance): void {
  app.decorateRequest('client', null)
  app.addHook('onRequest', (request, _reply, done) => {
    clientOf(request)
    done()
  })
}

/** By connection. Its requests mostly say the same of their client, and to look at that anew took 4 % of a check. */
const seen = new WeakMap<object, { forwarded: unknown; agent: unknown; client: Client }>()

export function clientOf(request: FastifyRequest): Client {
  if (request.client !== null) return request.client
  const { 'x-forwarded-for': forwarded, 'user-agent': agent } = request.headers
  const before = seen.get(request.raw.socket)
  if (before !== undefined && before.forwarded === forwarded && before.agent === agent) {
    request.client = before.client
    return before.client
  }
  const client = { ip: keptIp(request.ip ?? ''), userAgent: keptAgent(agent) }
  seen.set(request.raw.socket, { forwarded, agent, client })
  request.client = client
  return client
}
