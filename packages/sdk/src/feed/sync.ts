import { type Polled, waitSeconds } from '../http/schedule.ts'
import type { Clock } from '../runtime/clock.ts'
import { badResponse, PolicyScopeTooLargeError } from '../runtime/errors.ts'
import type { StoredKey } from '../store/records.ts'
import { Store } from '../store/store.ts'
import { EndedKeys } from '../verify/ended-keys.ts'
import type { Served } from '../verify/verify.ts'
import { type Delta, readFeedBody, type Scope, type Snapshot } from './body.ts'
import type { FeedClient } from './client.ts'

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

/** What a node holds, for whoever goes on from it. */
export interface Kept {
  store: Store
  version: number
  workspaceId: string
  /** Whether a key that is missing is missing in the service as well. */
  isWhole: boolean
}

/** What a node was made with, as far as it steers what is asked for and held. */
export interface SyncSettings {
  scope: Scope
  node: string
  cachedTtlMs: number
  maxCachedKeys: number
  maxAutoCachedKeys: number
}

export interface SyncDeps {
  client: FeedClient
  clock: Clock
  settings: SyncSettings
  served: Served
  onRaised: (maxKeys: number) => void
  /** Told what each answer says of the service's time: of its body, and of itself. */
  onTime?: ((generatedAt: number | undefined, date: number | undefined) => void) | undefined
}

/**
 * Brings the store that is served up to the service's version, one poll at a time. What is served changes only
 * when an answer, or all pages of a walk, were taken in and found right; the version is kept after that, and the
 * next poll, which names it, acknowledges it.
 */
export class Sync {
  /** Of what is served; undefined before the first snapshot. */
  version: number | undefined
  /** Whose project it is, by the first answer. */
  workspaceId: string | undefined
  /** What is served comes from an earlier process, and no answer has confirmed it yet. */
  #isResumed = false
  #etag: string | undefined
  #deps: SyncDeps
  readonly #ended: EndedKeys

  constructor(deps: SyncDeps) {
    this.#deps = deps
    this.#ended = deps.served.ended ??= new EndedKeys()
  }

  /** Undefined before the first snapshot. */
  get kept(): Kept | undefined {
    const { store, isPartial } = this.#deps.served
    const { version, workspaceId } = this
    if (store === undefined || version === undefined || workspaceId === undefined) return undefined
    return { store, version, workspaceId, isWhole: !isPartial }
  }

  /**
   * Goes on from what an earlier process held. Where it is not known to be all, what it holds is served and the next
   * poll takes a snapshot; else it asks for what has changed since.
   */
  resume({ store, version, workspaceId, isWhole }: Kept): void {
    const { served } = this.#deps
    served.store = store
    served.isPartial = !isWhole
    this.version = isWhole ? version : undefined
    this.workspaceId = workspaceId
    this.#isResumed = true
  }

  /** @throws KeyringError, and then nothing has changed */
  async poll(signal: AbortSignal): Promise<SyncResult> {
    const result = await this.#poll(signal)
    this.#isResumed = false
    return result
  }

  async #poll(signal: AbortSignal): Promise<SyncResult> {
    const { served, client, clock, settings } = this.#deps
    const { store } = served
    const { version } = this
    if (store === undefined || version === undefined) return await this.#seed(signal)

    const wait = waitSeconds(settings.cachedTtlMs)
    const sentAt = clock.monotonic()
    const { body, etag, waits, date } = await client({
      path: '/v1/policy/delta',
      query: this.#query({ since: String(version) }),
      ifNoneMatch: this.#etag,
      wait,
      timeoutMs: wait > 0 ? wait * 1_000 + HELD_TIMEOUT_SLACK_MS : REQUEST_TIMEOUT_MS,
      signal,
    })
    if (body === undefined) {
      this.#deps.onTime?.(undefined, date)
      store.confirm(sentAt)
      return { outcome: 'unchanged', waits, more: false, first: false }
    }
    const answer = readFeedBody(body, settings.scope)
    if (this.#isResumed && answer.workspaceId !== this.workspaceId) {
      // The project's id in another workspace: what an earlier process left is of something else.
      this.#forget()
      return await this.#seed(signal)
    }
    this.#check(answer, date)
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
    const first = !this.#hasServed()
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
    const renewed: string[] = []
    let emptyPages = 0
    let isFull = false
    let page = first
    for (;;) {
      if (page.version !== first.version) throw badResponse('version, which changed within a walk')
      if (page.workspaceId !== first.workspaceId)
        throw badResponse('workspace_id, which changed within a walk')
      if (page.deleted) break
      for (const key of page.keys) {
        if (this.#ended.refusalOf(key.digest) !== undefined) renewed.push(key.digest)
        if (!isFull && !this.#makeRoom(staged, key)) {
          if (!served.store || !this.#hasServed())
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
    if (page.deleted) {
      staged.clear()
      if (served.store) this.#ended.addAll(served.store.records, page.generatedAt)
    } else {
      // Of keys that are merely not in it a snapshot does not say why: they are unknown.
      for (const digest of renewed) this.#ended.forget(digest)
    }
    staged.confirm(sentAt)
    if (staged.maxKeys > (served.store?.maxKeys ?? settings.maxCachedKeys))
      this.#deps.onRaised(staged.maxKeys)
    served.evictions += served.store?.evictions ?? 0
    served.store = staged
    served.isPartial = false
    this.workspaceId = first.workspaceId
    this.version = first.version
    this.#etag = undefined
    return page !== first
  }

  async #page(cursor: string | undefined, signal: AbortSignal): Promise<Snapshot> {
    const { client, settings } = this.#deps
    const query = this.#query(cursor === undefined ? {} : { cursor })
    const { body, date } = await client({
      path: '/v1/policy/snapshot',
      query,
      timeoutMs: REQUEST_TIMEOUT_MS,
      signal,
    })
    const answer = readFeedBody(body, settings.scope)
    if (answer.kind !== 'snapshot') throw badResponse('object')
    if (this.#isResumed && answer.workspaceId !== this.workspaceId) this.#forget()
    this.#check(answer, date)
    return answer
  }

  #check({ workspaceId, generatedAt }: Snapshot | Delta, date: number | undefined): void {
    if (this.workspaceId !== undefined && workspaceId !== this.workspaceId)
      throw badResponse('workspace_id, which is another than before')
    this.#deps.onTime?.(generatedAt, date)
  }

  #forget(): void {
    this.#deps.served.store = undefined
    this.#ended.clear()
    this.version = undefined
    this.workspaceId = undefined
    this.#isResumed = false
  }

  /** Whether keys were ever served: a store that an earlier process left too long ago never was. */
  #hasServed(): boolean {
    const { store } = this.#deps.served
    return store !== undefined && store.confirmedAt !== Number.NEGATIVE_INFINITY
  }

  #apply(store: Store, { deleted, changes, generatedAt }: Delta): void {
    const { maxKeys } = store
    if (deleted) {
      this.#ended.addAll(store.records, generatedAt)
      store.clear()
    }
    for (const change of deleted ? [] : (changes ?? [])) {
      if ('tombstone' in change) {
        const { keyId, digest } = change.tombstone
        const slot = store.find(digest)
        if (slot !== -1) this.#ended.add(store.records, slot, generatedAt)
        store.remove(keyId, digest)
      } else {
        this.#ended.forget(change.upsert.digest)
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
