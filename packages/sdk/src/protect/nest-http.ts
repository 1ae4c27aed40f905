import type { ExecutionContext } from '@nestjs/common'

/** The request and the response behind a call, as the platform has them. */
interface NestHttp<Request, Response> {
  request: Request
  response: Response
  isGraphql: boolean
}

/** What GraphQL drivers of Nest put into the context: `req` and `res` (Apollo), or `reply` of Fastify (Mercurius). */
interface GraphqlContext {
  req?: unknown
  request?: unknown
  res?: unknown
  reply?: { request?: unknown }
}

/** Null for a call without an HTTP request to answer, such as one of a microservice or of a subscription over a socket. */
export function httpOf<Request, Response>(context: ExecutionContext): NestHttp<Request, Response> | null {
  const kind: string = context.getType()
  if (kind === 'http') {
    const http = context.switchToHttp()
    return { request: http.getRequest<Request>(), response: http.getResponse<Response>(), isGraphql: false }
  }
  if (kind !== 'graphql') return null
  // A resolver is called with parent, arguments, context and info.
  const { req, request = req, res, reply } = (context.getArgByIndex(2) ?? {}) as GraphqlContext
  const asked = request ?? reply?.request
  const answer = reply ?? res ?? (asked as { res?: unknown } | undefined)?.res
  if (asked === undefined || answer === undefined) return null
  return { request: asked as Request, response: answer as Response, isGraphql: true }
}
