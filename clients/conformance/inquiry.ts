import type { IncomingMessage } from 'node:http'
import type { Asked, Json } from './case.ts'
import { contains } from './compare.ts'

/** A request of a node, as a case speaks of it. */
interface Inquired {
  /** `GET /v1/policy/delta`, for people. */
  what: string
  path: string
  query: URLSearchParams
  prefer: string | undefined
  body: unknown
  /** The only check of a list. */
  isListed: boolean
  /** What no request may do. */
  faults: string[]
}

const ONE = '/v1/ratelimit/check'
const LIST = '/v1/ratelimit/checks'

/** Reads what a node asks, and remembers what must not come twice. */
export class Inquiry {
  readonly #secretKey: string
  readonly #nonces = new Set<string>()
  /** The bodies of a path, the last one last. */
  readonly #bodies = new Map<string, Json[]>()

  constructor(secretKey: string) {
    this.#secretKey = secretKey
  }

  read(request: IncomingMessage, text: string): Inquired {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const sent = text === '' ? undefined : parsed(text)
    const checks = (sent as Json | undefined)?.checks
    const isListed = url.pathname === LIST && Array.isArray(checks) && checks.length === 1
    return {
      what: `${request.method} ${url.pathname}`,
      path: isListed ? ONE : url.pathname,
      query: url.searchParams,
      prefer: request.headers.prefer as string | undefined,
      body: isListed ? (checks as unknown[])[0] : sent,
      isListed,
      faults: this.#secretFaults(request, url, text),
    }
  }

  /** What a request did not ask as the case says. */
  faultsOf(inquired: Inquired, asked: Asked): string[] {
    const { what, path, query, prefer, body } = inquired
    const faults: string[] = []
    const differs = (of: string, expected: unknown, got: unknown) =>
      faults.push(`${what}: ${of}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got ?? null)}`)
    if (asked.path !== undefined && asked.path !== path) differs('path', asked.path, path)
    for (const [name, value] of Object.entries(asked.query ?? {}))
      if (query.get(name) !== value) differs(`query ${name}`, value, query.get(name))
    if (asked.prefer !== undefined && asked.prefer !== (prefer ?? null))
      differs('Prefer', asked.prefer, prefer)
    const features = (query.get('features') ?? '').split(',')
    if (asked.features?.some(name => !features.includes(name)))
      differs('query features', asked.features, features)
    if (asked.body !== undefined && !contains(body, asked.body)) differs('body', asked.body, body)
    const nonce = query.get('nonce')
    if (asked.fresh && (nonce === null || this.#nonces.has(nonce))) differs('nonce', 'a new one', nonce)
    if (nonce !== null) this.#nonces.add(nonce)
    const before = this.#bodies.get(path) ?? []
    const now = (body ?? {}) as Json
    for (const name of asked.again ?? [])
      if (!contains(now[name], before.at(-1)?.[name]))
        differs(`body ${name}`, before.at(-1)?.[name], now[name])
    for (const name of asked.anew ?? [])
      if (now[name] === undefined || before.some(each => each[name] === now[name]))
        differs(`body ${name}`, 'a new one', now[name])
    this.#bodies.set(path, [...before, now])
    return faults
  }

  /** The secret key stands in its header, and nowhere else. */
  #secretFaults({ headers, rawHeaders, method }: IncomingMessage, url: URL, text: string): string[] {
    const what = `${method} ${url.pathname}`
    const faults: string[] = []
    if (url.pathname !== '/v1/healthz' && headers.authorization !== `Bearer ${this.#secretKey}`)
      faults.push(`${what}: Authorization is not Bearer with the secret key`)
    const others = rawHeaders.filter(
      (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() !== 'authorization',
    )
    const elsewhere = [decodeURIComponent(url.href), text, ...others]
    if (elsewhere.some(each => each.includes(this.#secretKey)))
      faults.push(`${what}: the secret key stands outside of Authorization`)
    return faults
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
