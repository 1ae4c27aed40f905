/** Brings a store up to the service's version. `poller.ts` repeats that; `body.ts` checks each answer before it is applied. */

import { REQUEST_TIMEOUT_MS } from '../http/schedule.ts'
import { badResponse, type KeyrailError } from '../runtime/errors.ts'
import { EndedKeys } from '../verify/ended-keys.ts'
import { applyDelta, needsSnapshot } from './apply.ts'
import { type Delta, readFeedBody, type Snapshot } from './body.ts'
import { Dates, LATE_MS } from './dates.ts'
import { Hold } from './hold.ts'
import { cachedAnswer, slowSnapshot, unreadableParts, versionBack } from './odd.ts'
import { HELD_TIMEOUT_SLACK_MS, plainTimeout } from './pace.ts'
import { feedQuery } from './query.ts'
import { type Held, holding } from './quota.ts'
import { hasLabels } from './record.ts'
import { Reseeds } from './reseeds.ts'
import type { AnswerTimes, Kept, SyncDeps, SyncResult } from './sync-deps.ts'
import { walk } from './walk.ts'

/** Undefined for an error of work that is over anyway; any other error is thrown. */
const unless =
  (isOver: () => boolean) =>
  (error: unknown): undefined => {
    if (!isOver()) throw error
  }

/**
 * After this part of the time that keys are served, the node gives a walk up: the keys of a walk count as confirmed when it began.
 * If no keys are served, nothing goes stale meanwhile, and a large project over a slow network becomes ready in the end.
 */
const WALK_MOST = 0.9
const WALK_MOST_UNSERVED = 10
interface Page {
  answer: Snapshot
  sentAt: number
  answeredAt: number
}

/**
 * Brings the served store up to the service's version, one poll at a time. The served store changes only after an answer,
 * or all pages of a walk, were read and checked. The version is set after that; the next poll sends it, which
 * acknowledges it.
 */
export class Sync {
  /** The served version; undefined before the first snapshot. */
  version: number | undefined
  /** The workspace of the project, from the first answer. */
  workspaceId: string | undefined
  /** The served keys come from an earlier process, and no answer has confirmed them yet. */
  #isResumed = false
  /** The last answer was old. The next answer is not held, so that it soon shows the current version. */
  #isInDoubt = false
  readonly #reseeds = new Reseeds()
  readonly #hold = new Hold()
  #features: readonly string[] = []
  readonly #dates = new Dates()
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
    return { store, version, workspaceId, isWhole: !isPartial, features: this.#features }
  }

  /**
   * Continues from what an earlier process held. If it may be incomplete, it is served and the next poll takes a snapshot;
   * otherwise the next poll asks for a delta.
   */
  resume({ store, version, workspaceId, isWhole, features = [] }: Kept): void {
    const { served } = this.#deps
    served.store = store
    served.isPartial = !isWhole
    this.version = isWhole ? version : undefined
    this.workspaceId = workspaceId
    this.#features = features
    this.#isResumed = true
  }

  /** @throws KeyrailError; nothing has changed then */
  async poll(signal: AbortSignal): Promise<SyncResult> {
    const { clock } = this.#deps
    try {
      const result = await this.#poll(signal)
      this.#hold.succeeded(clock.monotonic())
      this.#isResumed = false
      return result
    } catch (error) {
      this.#hold.failed(clock.monotonic())
      throw error
    }
  }

  /** For how many seconds the service may hold its next answer. */
  get holdSeconds(): number {
    return this.#hold.inUse
  }

  /** How long the held keys will be served, in milliseconds; 0 or less: they are stale. Undefined: there are none. */
  get lifeMs(): number | undefined {
    const { served, clock, settings } = this.#deps
    if (served.store === undefined) return undefined
    return served.store.confirmedAt + settings.cachedTtlMs - clock.monotonic()
  }

  async #poll(signal: AbortSignal): Promise<SyncResult> {
    const { served, client, clock, settings } = this.#deps
    const { store } = served
    const { version } = this
    if (store === undefined || version === undefined) return await this.#seed(signal)

    const lifeMs = this.lifeMs ?? 0
    const sentAt = clock.monotonic()
    // Keys of an earlier process may have been revoked while none ran.
    const wait = this.#hold.ask(this.#isResumed || this.#isInDoubt ? 0 : lifeMs, sentAt)
    const { body, waits, ...headers } = await client({
      path: '/v1/policy/delta',
      query: feedQuery(settings, this.#held, { since: String(version) }),
      wait,
      timeoutMs: wait > 0 ? wait * 1_000 + HELD_TIMEOUT_SLACK_MS : plainTimeout(lifeMs),
      signal,
    })
    const answer = readFeedBody(body, settings.scope)
    const receivedAt = clock.monotonic()
    this.#hold.answered(receivedAt)
    if (this.#isResumed && answer.workspaceId !== this.workspaceId) {
      // The same project id in another workspace: what the earlier process left belongs to something else.
      this.#forget()
      return await this.#seed(signal)
    }
    const answeredAt = this.#check(answer, { ...headers, sentAt })
    if (answer.kind === 'snapshot') {
      return await this.#reseed({ answer, sentAt, answeredAt }, { waits, version }, signal)
    }
    if (answer.since !== version) throw badResponse('since, which is not what was asked')
    const held = { store, features: this.#features, quota: settings }
    if (answer.changes === null || needsSnapshot(answer, held))
      return await this.#reseed(await this.#page(undefined, signal), { waits, version }, signal)
    const { maxKeys } = store
    applyDelta(answer, { store, ended: this.#ended, quota: settings })
    if (store.maxKeys > maxKeys) this.#deps.onRaised(store.maxKeys)
    // An answer older than its request came from a cache, also its time. None confirms keys for later than its receipt.
    store.confirm(answeredAt < sentAt ? answeredAt : Math.min(sentAt + answer.heldMs, receivedAt))
    this.#report(unreadableParts(answer.unreadable, answer.listed, answer.isImportedOdd))
    const isNew = answer.version !== version || answer.changes.length > 0
    // A process of before left out what it does not know: the next one that knows more brings a snapshot.
    if (isNew) this.#features = answer.features
    this.version = answer.version
    return this.#finish(isNew ? 'delta' : 'unchanged', waits)
  }

  async #seed(signal: AbortSignal): Promise<SyncResult> {
    const first = !this.#hasServed()
    const more = await this.#walk(await this.#page(undefined, signal), signal)
    return { ...this.#finish('snapshot', false), more, first }
  }

  /** Takes a snapshot that came in place of a delta. */
  async #reseed(
    first: Page,
    { waits, version }: { waits: boolean; version: number },
    signal: AbortSignal,
  ): Promise<SyncResult> {
    const more = await this.#walk(first, signal)
    const { version: next } = first.answer
    this.#reseeds.add(next > version)
    if (next < version) this.#deps.onOdd?.(versionBack(version, next))
    return { ...this.#result('snapshot', waits), more }
  }

  #finish(outcome: SyncResult['outcome'], waits: boolean): SyncResult {
    this.#reseeds.end()
    return this.#result(outcome, waits)
  }

  get #held(): Held {
    return holding(this.#deps.settings, this.#deps.served.store)
  }

  #result(outcome: SyncResult['outcome'], waits: boolean): SyncResult {
    const { keys, most } = this.#held
    this.#deps.onHeld?.(keys, most)
    const lifeMs = this.lifeMs ?? 0
    const { cutToMs } = this.#hold
    const { count: reseeds, stuck } = this.#reseeds
    return { outcome, waits, more: false, first: false, reseeds, stuck, cutToMs, lifeMs }
  }

  /**
   * Walks through the pages and replaces the served store. The whole counts as confirmed when the walk began, which is the
   * time of its version: a later page may have been read that early.
   *
   * @returns whether there was more than one page
   */
  async #walk({ answer: first, sentAt: beganAt, answeredAt }: Page, signal: AbortSignal): Promise<boolean> {
    const { served, settings, clock } = this.#deps
    let confirmedAt = answeredAt
    let pages = 1
    let isSlow = false
    const mostMs = settings.cachedTtlMs * ((this.lifeMs ?? 0) > 0 ? WALK_MOST : WALK_MOST_UNSERVED)
    const tookMs = () => clock.monotonic() - beganAt
    const next = async (cursor: string) => {
      if (!isSlow && tookMs() > settings.cachedTtlMs / 2) {
        isSlow = true
        this.#deps.onOdd?.(slowSnapshot(pages, tookMs(), true))
      }
      const leftMs = mostMs - tookMs()
      const page =
        leftMs > 0 && (await this.#page(cursor, signal, leftMs).catch(unless(() => tookMs() >= mostMs)))
      if (!page) throw slowSnapshot(pages, tookMs(), false)
      pages++
      confirmedAt = Math.min(confirmedAt, page.answeredAt)
      return page.answer
    }
    const { store, renewed, odd, features, last } = await walk(first, {
      next,
      clock,
      quota: settings,
      hasLabels: hasLabels(settings.scope),
      held: served.store,
      hasServed: this.#hasServed(),
      isEnded: digest => this.#ended.refusalOf(digest) !== undefined,
      signal,
    })
    // Pages of a cache may be older. Keys that live are not replaced by older ones.
    const lateMs = clock.monotonic() - confirmedAt
    if (lateMs >= settings.cachedTtlMs && (this.lifeMs ?? 0) > 0) throw cachedAnswer(lateMs)
    if (last.deleted) {
      if (served.store) this.#ended.addAll(served.store.records, last.generatedAt)
    } else {
      // A snapshot does not say why a key is missing, so such keys are unknown.
      for (const digest of renewed) this.#ended.forget(digest)
    }
    store.confirm(confirmedAt)
    if (store.maxKeys > (served.store?.maxKeys ?? settings.maxCachedKeys)) this.#deps.onRaised(store.maxKeys)
    served.evictions += served.store?.evictions ?? 0
    served.store = store
    served.isPartial = false
    this.workspaceId = first.workspaceId
    this.version = first.version
    this.#features = features
    this.#report(odd)
    return last !== first
  }

  async #page(cursor: string | undefined, signal: AbortSignal, mostMs = REQUEST_TIMEOUT_MS): Promise<Page> {
    const { client, clock, settings } = this.#deps
    const sentAt = clock.monotonic()
    const query = feedQuery(settings, this.#held, cursor === undefined ? {} : { cursor })
    const { body, ...headers } = await client({
      path: '/v1/policy/snapshot',
      query,
      timeoutMs: Math.min(REQUEST_TIMEOUT_MS, mostMs),
      signal,
    })
    const answer = readFeedBody(body, settings.scope)
    if (answer.kind !== 'snapshot') throw badResponse('object')
    if (this.#isResumed && answer.workspaceId !== this.workspaceId) this.#forget()
    return { answer, sentAt, answeredAt: this.#check(answer, { ...headers, sentAt }) }
  }

  /** @returns when the answer was given */
  #check(answer: Snapshot | Delta, rest: Omit<AnswerTimes, 'generatedAt'>): number {
    const { workspaceId, generatedAt } = answer
    if (this.workspaceId !== undefined && workspaceId !== this.workspaceId)
      throw badResponse('workspace_id, which is another than before')
    const times = { ...rest, generatedAt }
    const answeredAt = this.#deps.onTime?.(times) ?? times.sentAt
    this.#isInDoubt = answeredAt < times.sentAt - LATE_MS
    const odd = this.#dates.odd(times, answeredAt)
    if (odd) this.#deps.onOdd?.(odd)
    if (answer.isUnlabelled) this.#deps.onUnlabelled?.()
    this.#deps.onRefusals?.(answer.takesRefusals)
    return answeredAt
  }

  #forget(): void {
    this.#deps.served.store = undefined
    this.#ended.clear()
    this.version = undefined
    this.workspaceId = undefined
    this.#isResumed = false
  }

  #report(odd: readonly KeyrailError[]): void {
    for (const error of odd) this.#deps.onOdd?.(error)
  }

  /** Whether keys were ever served. A store that an earlier process left too long ago was not. */
  #hasServed(): boolean {
    const { store } = this.#deps.served
    return store !== undefined && store.confirmedAt !== Number.NEGATIVE_INFINITY
  }
}
