import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../refusal.ts'
import { parseJson } from './json.ts'
import type { JsonThread } from './json-thread.ts'

/**
 * Bytes of a body, unless a route says otherwise: 256 KiB, which `meta` of 64 KiB fits into however it is written, and
 * 16 KiB where no credential is asked for. Size is what a body costs: 1 MiB of members takes half a second to read.
 */
export const bodyLimit = 262_144
export const openBodyLimit = 16_384

const json = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the handler is given the bytes of the body, of whatever content type; false where it is not said. */
    isBodyRaw?: boolean
    /** The module of a `BodyReader`, for the thread in which a large body is read. */
    bodyReader?: string | null
  }
  interface FastifyRequest {
    /** Whether the body is valid, and what its reader has made of it. */
    isBodyRead: boolean
  }
}

/**
 * Takes every content type, so that the decision is made here, exactly, and not by a framework's loose
 * match. An empty body is `{}` whatever its type; the schema says whether that is enough. What is larger than most routes
 * take is read in a thread, so that nobody waits for it; there senders take turns.
 */
export function acceptJsonBodies(
  app: FastifyInstance,
  jsonThread: Pick<JsonThread, 'parse'>,
  senderOf: (request: FastifyRequest) => string,
): void {
  app.decorateRequest('isBodyRead', false)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (request, bytes, done) => {
    try {
      const { 'content-type': type, 'content-encoding': encoding } = request.headers
      const { isBodyRaw, bodyReader = null } = request.routeOptions.config
      if (bytes.length === 0 && !isBodyRaw) return done(null, {})
      if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
        throw new Refusal('unsupported_media_type', 'Compressed requests are not taken.')
      }
      if (isBodyRaw) return done(null, bytes)
      if (type === undefined || !json.test(type)) throw new Refusal('unsupported_media_type')
      if (bytes.length <= bodyLimit) return done(null, parseJson(bytes as Buffer))
      jsonThread.parse(bytes as Buffer, senderOf(request), bodyReader).then(value => {
        request.isBodyRead = bodyReader !== null
        done(null, value)
      }, done)
    } catch (error) {
      done(error as Error)
    }
  })
}
