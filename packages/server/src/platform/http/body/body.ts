/**
 * Bodies. `body.ts` parses by content type: `collect.ts` gathers the bytes within `pieces.ts` and the memory of
 * `large-bodies.ts`, `json.ts` parses after `json-scan.ts`, large ones in `json-thread.ts` (`json-worker.ts`,
 * `reader.ts`), one at a time by `turns.ts`. `unread.ts` and `mute.ts` handle what comes after the answer.
 * `open-body.ts` and `shared-body.ts` encode an answer once for many, `json-lines.ts` is an answer of lines,
 * `discard.ts` frees bytes at once.
 */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../../refusal.ts'
import { type CollectLimits, collectBody } from './collect.ts'
import { parseJson } from './json.ts'
import type { JsonThread } from './json-thread.ts'

/**
 * The largest body in bytes, unless a route sets its own. 256 KiB fits a `meta` of 64 KiB however it is escaped;
 * routes without credentials get 16 KiB. The cost of a body grows with its size: reading 1 MiB of members takes
 * half a second.
 */
export const bodyLimit = 262_144
export const openBodyLimit = 16_384

const json = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the handler receives the raw bytes, whatever the content type; false by default. */
    isBodyRaw?: boolean
    /** The module of a `BodyReader`, for the thread in which a large body is read. */
    bodyReader?: string | null
  }
  interface FastifyRequest {
    /** Whether the body has been validated and turned into what its reader returns. */
    isBodyRead: boolean
    /** Reserves the memory of the body as it arrives; null: it is small. */
    holdArrived: CollectLimits['hold']
  }
}

/**
 * Accepts every content type, so that this code decides, exactly, and not the framework's loose match. An empty
 * body is `{}` whatever its type; the schema decides whether that is enough. A body larger than most routes
 * accept is read in a thread, where senders take turns, so that it delays no other request.
 */
export function acceptJsonBodies(
  app: FastifyInstance,
  jsonThread: Pick<JsonThread, 'parse'>,
  senderOf: (request: FastifyRequest) => string,
): void {
  app.decorateRequest('isBodyRead', false)
  app.decorateRequest('holdArrived', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request, raw, done) => {
    const { bodyLimit: most } = request.routeOptions
    collectBody(raw, { most, hold: request.holdArrived }, (error, bytes) => {
      if (error !== null) return done(error as Error)
      try {
        readBody(request, bytes, done)
      } catch (error) {
        done(error as Error)
      }
    })
  })
  const readBody = (
    request: FastifyRequest,
    bytes: Buffer,
    done: (error: Error | null, body?: unknown) => void,
  ) => {
    const { 'content-type': type, 'content-encoding': encoding } = request.headers
    const { isBodyRaw, bodyReader = null } = request.routeOptions.config
    if (bytes.length === 0 && !isBodyRaw) return done(null, {})
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      throw new Refusal('unsupported_media_type', 'Compressed requests are not supported.')
    }
    if (isBodyRaw) return done(null, bytes)
    if (type === undefined || !json.test(type)) throw new Refusal('unsupported_media_type')
    if (bytes.length <= bodyLimit) return done(null, parseJson(bytes))
    jsonThread.parse(bytes, senderOf(request), bodyReader).then(value => {
      request.isBodyRead = bodyReader !== null
      done(null, value)
    }, done)
  }
}
