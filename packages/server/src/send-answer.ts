import { Readable } from 'node:stream'
import type { Problem } from '@keyrail/contract/errors'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer, Route } from './gate/route.ts'
import { JsonLines, linesType } from './platform/http/body/json-lines.ts'
import type { LargeBodies } from './platform/http/body/large-bodies.ts'
import { EndedBody } from './platform/http/body/open-body.ts'
import { type ToProblem, toRefusal } from './platform/http/problem.ts'

/** The memory of a streamed answer, in bytes: a page of an export. The stream itself counts lines, and its size is 1. */
const streamBytes = 131_072

/** Copying this costs less than sending it in two pieces. */
const copiedBytesMax = 65_536

/**
 * Sends what a handler has returned: JSON, a stream, lines, or bytes that are made already.
 *
 * @param memory the memory in which the answer counts until its reader has taken it
 * @throws {Refusal} `unavailable` without memory
 */
export function sendAnswer(
  reply: FastifyReply,
  route: Route,
  { body: given, headers, status, replayed }: Answer,
  memory: LargeBodies,
  toProblem: ToProblem,
) {
  const { request } = reply
  if (replayed) reply.header('idempotent-replayed', 'true')
  if (headers !== undefined) reply.headers(headers)
  if (status === 304) return reply.code(304).send()
  const isInLines = given instanceof JsonLines
  reply.type(isInLines ? linesType : (route.answer.type ?? 'application/json; charset=utf-8'))
  const body = isInLines ? given.toStream(error => lastWords(request, error, toProblem)) : given
  // The body of a HEAD response is not sent, so it must not be fetched.
  if (request.method === 'HEAD' && body instanceof Readable) {
    body.destroy()
    return reply.code(route.answer.status).send()
  }
  if (body instanceof Readable) {
    try {
      memory.holdAnswer(reply.raw, streamBytes)
    } catch (error) {
      // The stream is not sent, and without this it would hold its resources until it times out.
      body.destroy()
      throw error
    }
    return reply.code(route.answer.status).send(body)
  }
  if (body instanceof EndedBody) {
    const { start, end, bytes } = body
    memory.holdSent(reply.raw, start, route.method === 'GET')
    reply.header('content-length', bytes).code(route.answer.status)
    // A large start is not copied, since a fleet may fetch it at once.
    return bytes <= copiedBytesMax
      ? reply.send(Buffer.concat([start, end]))
      : reply.send(Readable.from([start, end], { objectMode: false }))
  }
  const isMade = Buffer.isBuffer(body) || (typeof body === 'string' && route.answer.type !== undefined)
  const payload = isMade ? body : JSON.stringify(body)
  memory.holdSent(reply.raw, payload, route.method === 'GET')
  return reply.code(replayed?.status ?? route.answer.status).send(payload)
}

/** The problem that ends an answer in lines, whose status is sent. */
function lastWords(request: FastifyRequest, error: unknown, toProblem: ToProblem): Problem {
  request.refusal = toRefusal(error)
  return toProblem(request.refusal, request.id, request.principal !== null)
}
