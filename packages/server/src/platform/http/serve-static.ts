import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { matches, SharedBody } from './shared-body.ts'

/** A file that everybody is sent alike. */
export interface StaticFile {
  readonly type: string
  readonly body: string | Buffer
  /** Such as its Content-Security-Policy. */
  readonly headers: Readonly<Record<string, string>>
}

interface Kept {
  readonly body: SharedBody
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Serves a file from memory. It is read when it is first asked for, since a start has no reason to wait for it, and
 * compressed once; all answers are the same bytes, and none costs a copy.
 *
 * @param caching `no-cache`: kept by whoever likes, and asked for anew, which is a 304 until it has changed.
 */
export function serveStatic(
  app: FastifyInstance,
  url: string,
  caching: 'no-store' | 'no-cache',
  read: () => Promise<StaticFile>,
): void {
  const keep = onceItSucceeds(async (): Promise<Kept> => {
    const { type, body, headers } = await read()
    const shared = new SharedBody(body)
    // Weak: the bytes differ by compression.
    const etag = `W/"${hash('sha256', shared.identity, 'base64url')}"`
    const tagged = caching === 'no-cache' ? { ...headers, etag } : headers
    return {
      body: shared,
      headers: { ...tagged, 'content-type': type, 'cache-control': caching, vary: 'Accept-Encoding' },
    }
  })
  app.get(url, async (request, reply) => {
    const { body, headers } = await keep()
    const { etag } = headers
    reply.headers(headers)
    if (etag !== undefined && matches(request.headers['if-none-match'], etag)) {
      return reply.removeHeader('content-type').code(304).send()
    }
    const { body: bytes, encoding } = await body.encoded(request.headers['accept-encoding']?.toString())
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply.send(bytes)
  })
}

/** What is made once and shared; where making it fails, the next caller tries again. */
export function onceItSucceeds<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch(error => {
      made = undefined
      throw error
    })
    return made
  }
}
