import type { Clock } from './clock.ts'
import { badResponse, PolicyScopeTooLargeError } from './errors.ts'
import { type Delta, readFeedBody, type Snapshot } from './feed-body.ts'
import type { FeedClient } from './feed-client.ts'
import type { Settings } from './options.ts'
import type { StoredKey } from './records.ts'
import { type Polled, waitSeconds } from './schedule.ts'
import { Store } from './store.ts'
import type { Served } from './verify.ts'

/** Asked for with every request: it says that this node can page, and it is as much as the service sends at once. */
const PAGE_KEYS = 5_000
const REQUEST_TIMEOUT_MS = 10_000
/**
 * Beyond the time that an answer may be held. Less than for other requests: after one long wait and another that
 * is never answered, there must be time for one more try before what is held goes stale.
 */
const HELD_TIMEOUT_SLACK_MS = 5_000
/** A walk of more pages without a key than this is not going anywhere. */
const EMPTY_PAGES_MAX = 64

export type SyncResult = Pick<Polled, 'outcome' | 'waits' | 'more' | 'first'>

export interface SyncDeps {
  client: FeedClient
  clock: Clock
  settings: Settings
  served: Served
  onRaised: (maxKeys: number) => void
}

/**
 * Brings the store that is served up to the service's version, one poll at a time. What is served changes only
 * when an answer, or all pages of a walk, were taken in and found right; the version is kept after that, and the
 * next poll, which names it, acknowledges it.
 */
export class Sync {
  /** Of what is served; undefined before the first snapshot. */
  version: number | undefined
  #etag: string | undefined
  #deps: SyncDeps

  constructor(deps: SyncDeps) {
    this.#deps = deps
  }

  /** @throws KeyringError, and then nothing has changed */
  async poll(signal: AbortSignal): Promise<SyncResult> {
    const { served, client, clock, settings } = this.#deps
    const { store } = served
    const { version } = this
    if (store === undefined || version === undefined) return await this.#seed(signal)

    const wait = waitSeconds(settings.cachedTtlMs)
    const sentAt = clock.monotonic()
    const { body, etag, waits } = await client({
      path: '/v1/policy/delta',
      query: this.#query({ since: String(version) }),
      ifNoneMatch: this.#etag,
      wait,
      timeoutMs: wait > 0 ? wait * 1_000 + HELD_TIMEOUT_SLACK_MS : REQUEST_TIMEOUT_MS,
      signal,
    })
    if (body === undefined) {
      store.confirm(sentAt)
      return { outcome: 'unchanged', waits, more: false, first: false }
    }
    const answer = readFeedBody(body, settings.scope)
    if (answer.kind === 'snapshot') {
      const more = await this.#walk(answer, sentAt, signal)
      return { outcome: 'snapshot', waits, more, first: false }
    }
    if (answer.since !== version) throw badResponse('since, which is not what was asked')
    if (answer.changes === null) return await this.#seed(signal)
    this.#apply(store, answer)
    store.confirm(sentAt)
    const isNew = answer.version !== version || answer.changes.length > 0
    this.version = answer.version
    this.#etag = etag
    return { outcome: isNew ? 'delta' : 'unchanged', waits, more: false, first: false }
  }

  async #seed(signal: AbortSignal): Promise<SyncResult> {
    const first = this.#deps.served.store === undefined
    const sentAt = this.#deps.clock.monotonic()
    const more = await this.#walk(await this.#page(undefined, signal), sentAt, signal)
    return { outcome: 'snapshot', waits: false, more, first }
  }

  /**
   * Takes in the remaining pages beside what is served, and puts the whole in its place. All of it counts as
   * confirmed when the walk was begun, whose version it is of: a later page may have been read as early as that.
   *
   * @returns whether there was more than one page
   */
  async #walk(first: Snapshot, sentAt: number, signal: AbortSignal): Promise<boolean> {
    const { served, settings } = this.#deps
    const staged = new Store(Math.max(settings.maxCachedKeys, served.store?.maxKeys ?? 0))
    let emptyPages = 0
    let isFull = false
    let page = first
    for (;;) {
      if (page.version !== first.version) throw badResponse('version, which changed within a walk')
      if (page.deleted) break
      for (const key of page.keys) {
        if (!isFull && !this.#makeRoom(staged, key)) {
          if (!served.store)
            throw new PolicyScopeTooLargeError({ refusedToStart: true, maxKeys: staged.maxKeys })
          // What is served goes on being served: of the keys that are left, those that were held before.
          staged.keepOnly(served.store)
          isFull = true
        }
        if (isFull && !served.store?.hasId(key.keyId)) staged.evictions++
        else staged.upsert(key)
      }
      if (page.nextCursor === null) break
      if (page.keys.length === 0 && ++emptyPages > EMPTY_PAGES_MAX)
        throw badResponse('keys, page after page without')
      page = await this.#page(page.nextCursor, signal)
    }
    if (page.deleted) staged.clear()
    staged.confirm(sentAt)
    if (staged.maxKeys > (served.store?.maxKeys ?? settings.maxCachedKeys))
      this.#deps.onRaised(staged.maxKeys)
    served.evictions += served.store?.evictions ?? 0
    served.store = staged
    this.version = first.version
    this.#etag = undefined
    return page !== first
  }

  async #page(cursor: string | undefined, signal: AbortSignal): Promise<Snapshot> {
    const { client, settings } = this.#deps
    const query = this.#query(cursor === undefined ? {} : { cursor })
    const { body } = await client({
      path: '/v1/policy/snapshot',
      query,
      timeoutMs: REQUEST_TIMEOUT_MS,
      signal,
    })
    const answer = readFeedBody(body, settings.scope)
    if (answer.kind !== 'snapshot') throw badResponse('object')
    return answer
  }

  #apply(store: Store, { deleted, changes }: Delta): void {
    const { maxKeys } = store
    if (deleted) store.clear()
    for (const change of deleted ? [] : (changes ?? [])) {
      if ('tombstone' in change) {
        store.remove(change.tombstone.keyId, change.tombstone.digest)
      } else {
        // Where there is no room any more, the newest key takes the place of the least recently used one.
        this.#makeRoom(store, change.upsert)
        store.upsert(change.upsert)
      }
    }
    if (store.maxKeys > maxKeys) this.#deps.onRaised(store.maxKeys)
  }

  /** Whether a key fits, after raising the bound by a quarter where that is needed and allowed. */
  #makeRoom(store: Store, { keyId }: StoredKey): boolean {
    if (store.size < store.maxKeys || store.hasId(keyId)) return true
    const most = Math.max(this.#deps.settings.maxCachedKeys, this.#deps.settings.maxAutoCachedKeys)
    store.maxKeys = Math.max(store.maxKeys, Math.min(most, Math.ceil(store.maxKeys * 1.25)))
    return store.size < store.maxKeys
  }

  #query(more: Record<string, string>): URLSearchParams {
    const { scope, node } = this.#deps.settings
    return new URLSearchParams({
      project_id: scope.projectId,
      ...(scope.env !== 'both' && { env: scope.env }),
      ...(scope.tenantIds.length > 0 && { tenant_id: scope.tenantIds.join(',') }),
      node,
      max_keys: String(PAGE_KEYS),
      ...more,
    })
  }
}
