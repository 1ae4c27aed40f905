import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { onceItSucceeds } from '../concurrency/once.ts'
import { matches, SharedBody } from './body/shared-body.ts'

/** A file that is the same for every caller. */
export interface StaticFile {
  readonly type: string
  readonly body: string | Buffer
  /** For example its Content-Security-Policy. */
  readonly headers: Readonly<Record<string, string>>
}

/** The sources from which a page may load: directives of its Content-Security-Policy. */
type Sources = Readonly<
  Partial<Record<'script-src' | 'style-src' | 'connect-src' | 'img-src' | 'font-src', string>>
>

/** Headers of a page that loads only from these sources, is in no frame, and has no form that a browser submits by itself. */
export const pageHeaders = (sources: Sources) => ({
  'content-security-policy': [
    "default-src 'none'",
    ...Object.entries(sources).map(([directive, from]) => `${directive} ${from}`),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
})

/** How browsers may keep a file. */
const cacheControl = {
  'no-store': 'no-store',
  /** Any cache may store the file and must revalidate it, which is a 304 until the file changes. */
  'no-cache': 'no-cache',
  /** The file's name contains a hash of its content, so another content has another name. A year. */
  immutable: 'public, max-age=31536000, immutable',
} as const

type Caching = keyof typeof cacheControl

/** A file in memory, which all responses share. */
export interface KeptFile {
  readonly body: SharedBody
  readonly headers: Readonly<Record<string, string>>
}

export function keepFile({ type, body, headers }: StaticFile, caching: Caching): KeptFile {
  const shared = new SharedBody(body, 'thorough')
  // Weak, because the bytes differ by compression.
  const etag = `W/"${hash('sha256', shared.identity, 'base64url')}"`
  const tagged = caching === 'no-store' ? headers : { ...headers, etag }
  return {
    body: shared,
    headers: {
      ...tagged,
      'content-type': type,
      'cache-control': cacheControl[caching],
      vary: 'Accept-Encoding',
    },
  }
}

/** Sends a file, or a 304 to a client that has it. The file is compressed once, and no response copies it. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, headers }: KeptFile,
): Promise<FastifyReply> {
  const { etag } = headers
  reply.headers(headers)
  if (etag !== undefined && matches(request.headers['if-none-match'], etag)) {
    return reply.removeHeader('content-type').code(304).send()
  }
  const { body: bytes, encoding } = await body.encoded(request.headers['accept-encoding']?.toString())
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.send(bytes)
}

/**
 * Serves a file from memory. It is read on the first request, to keep the start fast.
 *
 * Not by `@fastify/static`: that plugin serves folders of a disk, while some files are made from settings or routes; it does
 * not compress; and its tag is the time of a file, which differs between two processes of one release.
 */
export function serveStatic(
  app: FastifyInstance,
  url: string,
  caching: Caching,
  read: () => Promise<StaticFile>,
): void {
  const keep = onceItSucceeds(async () => keepFile(await read(), caching))
  app.get(url, async (request, reply) => sendFile(request, reply, await keep()))
}
