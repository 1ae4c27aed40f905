/**
 * Answers proxies and programs: `auth.ts` judges the request that a proxy hands over, `verify-call.ts` a key in a body. `settings.ts`
 * has the settings, `command.ts` the process. `demands.ts` and `route-table.ts` say what a request must fulfil, `identity.ts` whose
 * it is, `problem.ts` the guard's own refusals, `figures.ts` the metrics, `listen.ts` opens port or socket.
 */

import { hash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createGate, type HttpAnswer, type Keyrail, type RequestGate } from '@keyrail/sdk'
import { judge, type Rules } from './auth.ts'
import { KnownRoutes, QueryDemands } from './demands.ts'
import { Figures } from './figures.ts'
import { jsonInHeader, nobody } from './identity.ts'
import { problem } from './problem.ts'
import type { GuardSettings, Reloaded } from './settings.ts'
import { answerVerify } from './verify-call.ts'

/** The parts of a `Keyrail` that judge. */
type Judges = Pick<Keyrail, 'keys' | 'limiter' | 'usage' | 'health'>

export type Log = (level: 'info' | 'warn', message: string) => void

/** As much as a proxy may hand over of a client's headers. */
const HEADER_BYTES_MAX = 32_768
const HEADERS_WITHIN_MS = 5_000
const REQUEST_WITHIN_MS = 10_000
/** Longer than proxies keep an idle connection, so that they close it, and never send into a closed one. */
const KEPT_MS = 75_000
/** Unread bytes of a body that are skipped to keep a connection; behind more, it is closed. */
const SKIPPED_BYTES_MAX = 65_536
const secretHeader = 'x-keyrail-guard-secret'

export class Guard {
  readonly server: Server
  readonly #settings: GuardSettings
  readonly #judges: Judges
  readonly #log: Log
  readonly #figures = new Figures()
  readonly #gate: RequestGate
  readonly #calls: RequestGate
  #files: Reloaded
  #rules: Rules
  #digest: Buffer | undefined
  #isStopping = false

  constructor(settings: GuardSettings, judges: Judges, log: Log) {
    this.#settings = settings
    this.#judges = judges
    this.#log = log
    const options = {
      ...(settings.limits === 'off' && { limiter: false as const }),
      ...(!settings.usage && { usage: false as const }),
    }
    this.#gate = createGate(judges, { ...options, header: settings.keyHeaders })
    this.#calls = createGate(judges, { ...options, getKey: ({ key }) => key })
    const { methodHeader, uriHeader, ipHeader, first } = settings
    this.#rules = {
      gate: this.#gate,
      known: new KnownRoutes(settings.limits !== 'off'),
      queries: new QueryDemands(),
      headers: methodHeader && uriHeader ? { method: methodHeader, uri: uriHeader } : undefined,
      ipHeader,
      routes: first.routes,
    }
    this.#files = first
    this.#digest = digestOf(first.secret)
    this.server = createServer(
      {
        maxHeaderSize: HEADER_BYTES_MAX,
        headersTimeout: HEADERS_WITHIN_MS,
        requestTimeout: REQUEST_WITHIN_MS,
        keepAliveTimeout: KEPT_MS,
        connectionsCheckingInterval: 1_000,
      },
      (request, response) => {
        this.#answer(request, response).catch(error => this.#fail(request, response, error))
      },
    )
    this.server.maxConnections = settings.maxConnections
    // Their bytes are bounded. By a count Node would leave out the last ones, such as a second one of a proxy, or refuse.
    this.server.maxHeadersCount = 0
  }

  get #charges(): boolean {
    return this.#settings.limits !== 'off'
  }

  get secretKey(): string {
    return this.#files.secretKey
  }

  /** Reads table and secrets again. A fault changes nothing. */
  reload(): void {
    try {
      this.#files = this.#settings.reload()
      this.#rules = { ...this.#rules, routes: this.#files.routes }
      this.#digest = digestOf(this.#files.secret)
      this.#figures.reloaded('applied')
      this.#log('info', 'the table of routes and the secrets were read again')
    } catch (error) {
      this.#figures.reloaded('refused')
      this.#log('warn', `nothing was reloaded: ${(error as Error).message}`)
    }
  }

  /** From now on `/readyz` is 503. */
  drain(): void {
    this.#isStopping = true
  }

  /** Answers what is in flight, and closes. */
  async close(withinMs: number): Promise<void> {
    this.#isStopping = true
    const closed = new Promise<void>(resolve => this.server.close(() => resolve()))
    this.server.closeIdleConnections()
    const timer = setTimeout(() => this.server.closeAllConnections(), withinMs)
    await closed.finally(() => clearTimeout(timer))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '/' } = request
    const at = url.indexOf('?')
    const path = at === -1 ? url : url.slice(0, at)
    const query = at === -1 ? '' : url.slice(at + 1)
    if (path === '/healthz') return this.#send(request, response, json(200, { status: 'ok' }))
    if (path === '/readyz') return this.#send(request, response, this.#readiness())
    const isAuth = path === '/auth' || path.startsWith('/ext-authz/')
    if (!this.#isTrusted(request)) {
      const detail = `The header ${secretHeader} does not have the secret of this guard`
      return this.#refuse(request, response, problem(403, 'wrong_guard_secret', detail))
    }
    if (isAuth) return this.#auth(request, response, path, query)
    if (path === '/metrics') return this.#metrics(request, response)
    if (path !== '/verify')
      return this.#refuse(request, response, problem(404, 'not_found', 'Nothing is here'))
    if (request.method !== 'POST')
      return this.#refuse(request, response, problem(405, 'method_not_allowed', 'Send POST'))
    const answer = await answerVerify(this.#calls, request, this.#charges)
    this.#figures.count(String((answer.body as { code?: string }).code))
    this.#send(request, response, answer)
  }

  async #auth(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: string,
  ): Promise<void> {
    const { method = 'GET', rawHeaders } = request
    const answer = await judge(this.#rules, { method, rawHeaders, path, query })
    if (!('refusal' in answer)) {
      this.#figures.count(answer.code)
      answer.headers['cache-control'] = 'no-store'
      return this.#end(request, response, 200, answer.headers, '')
    }
    this.#refuse(request, response, answer.refusal)
  }

  #refuse(request: IncomingMessage, response: ServerResponse, { status, headers, body }: HttpAnswer): void {
    this.#figures.count(String((body as { code?: string }).code))
    const all = { ...nobody, ...headers, 'x-keyrail-problem': jsonInHeader(body) }
    this.#end(request, response, status, all, JSON.stringify(body))
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    // A proxy that went away while it sent a body.
    if (response.destroyed) return
    this.#log('warn', `a request failed: ${error instanceof Error ? error.message : 'it threw'}`)
    this.#refuse(request, response, problem(500, 'internal_error', 'The guard failed; see its log'))
  }

  #metrics(request: IncomingMessage, response: ServerResponse): void {
    const text = this.#figures.text(this.#judges, this.#connections())
    this.#end(request, response, 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, text)
  }

  #connections(): number {
    return (this.server as Server & { readonly _connections?: number })._connections ?? 0
  }

  #readiness(): HttpAnswer {
    const { ok, lagMs, source, lastError } = this.#judges.health()
    const isReady = ok && !this.#isStopping
    const status = isReady ? 'ready' : this.#isStopping ? 'stopping' : 'not_ready'
    return json(isReady ? 200 : 503, { status, lag_ms: lagMs, source, last_error: lastError })
  }

  #isTrusted({ rawHeaders }: IncomingMessage): boolean {
    const digest = this.#digest
    if (digest === undefined) return true
    const at = rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === secretHeader)
    const given = digestOf(rawHeaders[at + 1])
    return at !== -1 && given !== undefined && timingSafeEqual(digest, given)
  }

  #send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: HttpAnswer): void {
    this.#end(request, response, status, { ...headers }, JSON.stringify(body))
  }

  #end(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    headers: Record<string, string>,
    body: string,
  ): void {
    if (response.headersSent || response.destroyed) return
    headers['content-length'] = body === '' ? '0' : String(Buffer.byteLength(body))
    if (this.#isStopping || (hasLongBody(request) && !request.complete)) headers.connection = 'close'
    response.writeHead(status, headers).end(body)
  }
}

/** Reads the raw list: Node makes the object of headers for whoever asks, and few do. */
function hasLongBody({ rawHeaders }: IncomingMessage): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') return true
    if (name.length === 14 && name.toLowerCase() === 'content-length')
      return Number(rawHeaders[at + 1]) > SKIPPED_BYTES_MAX
  }
  return false
}

const digestOf = (secret: string | undefined): Buffer | undefined =>
  secret === undefined ? undefined : hash('sha256', secret, 'buffer')

const json = (status: number, body: object): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body,
})
