import type { FastifyInstance } from 'fastify'
import { Refusal } from '../refusal.ts'
import { parseJson } from './json.ts'

/** 1 MiB, unless a route says otherwise. */
export const bodyLimit = 1_048_576

const json = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the handler is given the bytes of the body, of whatever content type; false where it is not said. */
    isBodyRaw?: boolean
  }
}

/**
 * Takes every content type, so that the decision is made here, exactly, and not by a framework's loose
 * match. An empty body is `{}` whatever its type; the schema says whether that is enough.
 */
export function acceptJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (request, bytes, done) => {
    try {
      const { 'content-type': type, 'content-encoding': encoding } = request.headers
      const { isBodyRaw } = request.routeOptions.config
      if (bytes.length === 0 && !isBodyRaw) return done(null, {})
      if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
        throw new Refusal('unsupported_media_type', 'Compressed requests are not taken.')
      }
      if (isBodyRaw) return done(null, bytes)
      if (type === undefined || !json.test(type)) throw new Refusal('unsupported_media_type')
      done(null, parseJson(bytes as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
}
