import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type PolicyChange, PolicyDelta, type PolicyKey, PolicySnapshot } from '@keyrail/contract/feed'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { drawKey, id } from './keys.ts'

export const project = id(0xc000)
export const workspaceId = id(0xd000)
export const secretKey = drawKey('krsk_live')

const ajv = addFormats.default(new Ajv2020({ strict: false }))
const isSnapshot = ajv.compile(PolicySnapshot)
const isDelta = ajv.compile(PolicyDelta)

export interface Asked {
  url: URL
  headers: IncomingMessage['headers']
}

/** An answer that a test sets. A string or Buffer is sent unchanged; `hang` never answers. */
export interface Instead {
  status?: number
  headers?: Record<string, string>
  body?: unknown
  hang?: true
  /** Writes anything to the socket. */
  raw?: (socket: Socket) => void
  /** Continues with the usual answer after this. */
  before?: () => void | Promise<void>
}

/**
 * A small service on a real socket that serves the policy feed by the contract: pages, deltas, snapshots in place of deltas, entity
 * tags and held answers. Tests compare its answers with the contract's schemas.
 */
export class FeedService {
  readonly keys = new Map<string, PolicyKey>()
  readonly asked: Asked[] = []
  /** Answers that come before the usual ones, in order. */
  readonly instead: Instead[] = []
  /** Answers every request while it is set; if it returns undefined, the answer is the usual one. */
  misbehave: ((asked: Asked) => Instead | undefined) | undefined
  workspaceId = workspaceId
  version = 1
  /** A delta from a lower version gets a snapshot. */
  floor = 0
  deleted = false
  pageKeys = 1_000
  offersWait = false
  /** What deltas say for how long they were held; undefined: nothing, as before the service could. */
  heldMs: number | undefined
  /** Its clock, and how far that is ahead in ms. */
  clock: () => number = Date.now
  aheadMs = 0
  env: 'live' | 'test' | null = 'live'
  url = ''
  readonly #changes: { version: number; change: PolicyChange }[] = []
  readonly #waiters = new Set<() => void>()
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  async listen(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    if (this.#server.listening) await new Promise(resolve => this.#server.close(resolve))
  }

  upsert(key: PolicyKey): void {
    this.keys.set(key.key_id, key)
    this.#record({ change: 'upsert', ...key })
  }

  revoke(keyId: string): void {
    const key = this.keys.get(keyId)
    assert.ok(key)
    this.keys.delete(keyId)
    this.#record({ change: 'tombstone', key_id: keyId, env: key.env, lookup_hash: key.lookup_hash })
  }

  delete(): void {
    this.keys.clear()
    this.deleted = true
    this.#bump()
  }

  /** The requested paths with their queries. */
  get paths(): string[] {
    return this.asked.map(({ url }) => `${url.pathname.replace('/v1/policy/', '')}`)
  }

  #record(change: PolicyChange): void {
    this.#bump()
    this.#changes.push({ version: this.version, change })
  }

  #bump(): void {
    this.version++
    for (const wake of this.#waiters) wake()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    this.asked.push({ url, headers: request.headers })
    const instead = this.instead.shift() ?? this.misbehave?.({ url, headers: request.headers })
    await instead?.before?.()
    if (instead?.hang) return
    if (instead?.raw) {
      if (response.socket !== null) instead.raw(response.socket)
      return
    }
    if (this.aheadMs !== 0 || this.clock !== Date.now)
      response.setHeader('date', new Date(this.clock() + this.aheadMs).toUTCString())
    if (instead && !instead.before) {
      const { status = 200, headers = {}, body = '' } = instead
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
      return
    }
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (url.pathname === '/v1/policy/snapshot') return send(response, headers, this.#snapshot(url))

    const since = Number(url.searchParams.get('since'))
    const wait = /wait=(\d+)/.exec(String(request.headers.prefer ?? ''))?.[1]
    if (this.offersWait && wait !== undefined) {
      headers['preference-applied'] = `wait=${wait}`
      if (since === this.version) await this.#change(Number(wait) * 1_000, response)
    }
    const etag = `W/"${this.version}"`
    headers.etag = etag
    if (since === this.version && request.headers['if-none-match'] === etag) {
      response.writeHead(304, headers)
      response.end()
      return
    }
    const retells = since > this.version || since < this.floor
    send(response, headers, retells ? this.#snapshot(url) : this.#delta(since))
  }

  #head() {
    return {
      workspace_id: this.workspaceId,
      project_id: project,
      env: this.env,
      version: this.version,
      project_deleted: this.deleted,
      generated_at: new Date(this.clock() + this.aheadMs).toISOString(),
    }
  }

  /** A cursor is the version of the walk and the number of keys before it. */
  #snapshot(url: URL): PolicySnapshot {
    const [version = this.version, from = 0] = url.searchParams.get('cursor')?.split('.').map(Number) ?? []
    const size = Math.min(Number(url.searchParams.get('max_keys')), this.pageKeys)
    const keys = [...this.keys.values()].sort((one, other) => (one.key_id < other.key_id ? -1 : 1))
    const next_cursor = from + size < keys.length ? `${version}.${from + size}` : null
    const body = {
      object: 'policy_snapshot' as const,
      ...this.#head(),
      version,
      keys: keys.slice(from, from + size),
      next_cursor,
    }
    assert.ok(isSnapshot(body), ajv.errorsText(isSnapshot.errors))
    return body
  }

  #delta(since: number): PolicyDelta {
    const last = new Map<string, PolicyChange>()
    for (const { version, change } of this.#changes) if (version > since) last.set(change.key_id, change)
    const changes = this.deleted ? [] : [...last.values()]
    const held = this.heldMs === undefined ? {} : { held_ms: this.heldMs }
    const body = { object: 'policy_delta' as const, ...this.#head(), since, changes, ...held }
    assert.ok(isDelta(body), ajv.errorsText(isDelta.errors))
    return body
  }

  async #change(timeoutMs: number, response: ServerResponse): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(done, timeoutMs)
      const { waiters } = { waiters: this.#waiters }
      function done() {
        clearTimeout(timer)
        waiters.delete(done)
        resolve()
      }
      waiters.add(done)
      response.once('close', done)
    })
  }
}

function send(response: ServerResponse, headers: Record<string, string>, body: unknown): void {
  response.writeHead(200, headers)
  response.end(JSON.stringify(body))
}

export async function startFeedService(): Promise<FeedService> {
  const service = new FeedService()
  await service.listen()
  return service
}
