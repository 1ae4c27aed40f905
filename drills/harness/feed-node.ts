import { decodeSnapshot, encodeSnapshot } from '../../packages/sdk/src/disk/snapshot-file.ts'
import { createFeedClient } from '../../packages/sdk/src/feed/client.ts'
import { Sync } from '../../packages/sdk/src/feed/sync.ts'
import type { SyncResult } from '../../packages/sdk/src/feed/sync-deps.ts'
import { readOptions } from '../../packages/sdk/src/keyring/options.ts'
import type { Clock } from '../../packages/sdk/src/runtime/clock.ts'
import { KeyrailError } from '../../packages/sdk/src/runtime/errors.ts'
import { createVerify, type Served, type Verify } from '../../packages/sdk/src/verify/verify.ts'
import { EndedModel, type Ends, type FeedAnswer } from './feed-ended.ts'
import { type FeedHouse, fetchFrom } from './feed-house.ts'
import {
  codeAtEnd,
  differences,
  drillAddress,
  heldKeys,
  refusedKeys,
  type Sight,
  sentKeys,
  type Truth,
} from './feed-truth.ts'

/** The course of one poll. */
export interface PollPlan {
  /** `max_keys` of every request; null: none is sent. */
  pageSize: number | null
  /** Done between two pages of a walk. */
  between?: () => Promise<void>
  /** Which request's answer is lost on its way back, from 0; the service has received the request. */
  loseAnswer?: number
}

export type Polled = { result: SyncResult; error?: never } | { result?: never; error: KeyrailError }

export interface NodeOptions extends Sight {
  name: string
  projectId: string
  token: string
  /** Changes every answer on its way; a test of the drill forges with it. */
  onAnswer?: (text: string) => string
  /** Asks for the vendor's texts too. */
  hasLabels?: boolean
  /** What a keyring would report about answers that were accepted all the same. */
  onOdd?: (error: KeyrailError) => void
}

/** Changes nothing, so no keyring waits for an answer and none is stale. */
const timeless = { cachedTtlMs: 10_000 }

/**
 * A node of a fleet: the SDK's own client, sync, store and verification, without its timer, so that the drill decides
 * when it polls.
 */
export class FeedNode {
  readonly options: NodeOptions
  readonly #house: FeedHouse
  #plan: PollPlan = { pageSize: null }
  #requests = 0
  #answer: FeedAnswer | null = null
  readonly #ended = new EndedModel()
  #served: Served = emptyServed()
  #sync: Sync
  #verify: Verify

  constructor(house: FeedHouse, options: NodeOptions) {
    this.#house = house
    this.options = options
    const { sync, verify } = this.#open()
    this.#sync = sync
    this.#verify = verify
  }

  get version(): number | undefined {
    return this.#sync.version
  }

  /** Restarts the process without its memory. */
  restart(): void {
    const { sync, verify } = this.#open()
    this.#sync = sync
    this.#verify = verify
    this.#ended.began(this.#ends())
  }

  /** Restarts the process from what it has written down; the disk itself is left out. */
  restartFromDisk(): void {
    const { kept } = this.#sync
    this.restart()
    if (kept === undefined) return
    const { projectId, env, tenantIds } = this.options
    const scope = { projectId, env, tenantIds: [...tenantIds].sort() }
    const times = { confirmedWall: this.#house.now(), confirmedUptime: 0 }
    const bytes = encodeSnapshot(kept.store, scope, { ...kept, ...times }, kept.isWhole)
    const loaded = decodeSnapshot(new Uint8Array(bytes).buffer, scope, kept.store.maxKeys)
    if ('refused' in loaded) throw new Error(`the node cannot read what it has written: ${loaded.why}`)
    loaded.store.confirm(0)
    this.#sync.resume(loaded)
    this.#ended.began(this.#ends())
  }

  /** Claims a version that the service has not reached, as after a restore of an old backup. */
  runAhead(by: number): void {
    if (this.#sync.version !== undefined) this.#sync.version += by
  }

  /** One poll, to the end of its walk. */
  async poll(plan: PollPlan): Promise<Polled> {
    this.#plan = plan
    this.#requests = 0
    this.#answer = null
    try {
      const result = await this.#sync.poll(new AbortController().signal)
      this.#ended.heard(this.#ends(), this.#answer)
      return { result }
    } catch (error) {
      if (error instanceof KeyrailError) return { error }
      throw error
    }
  }

  /** How the store differs from the truth at this moment; empty when it does not. */
  differsFrom(truth: Truth): string[] {
    return differences(sentKeys(truth, this.options, this.#house.now()), this.held(truth))
  }

  held(truth: Truth): Map<string, string> {
    const { store } = this.#served
    if (store === undefined) return new Map()
    return heldKeys({ records: store.records, find: digest => store.find(digest) }, truth, this.#house.now())
  }

  /**
   * Ids of keys whose verdict is wrong, by the reason that this node can know.
   *
   * @param unread keys that it received in a form that it cannot read, or that ended for a cause that it does not know: refused,
   *   for any reason
   */
  misjudges(
    truth: Truth,
    issued: ReadonlyMap<string, string>,
    unread: ReadonlySet<string> = new Set(),
  ): string[] {
    const sent = sentKeys(truth, this.options, this.#house.now())
    const ip = truth.version % 4 === 0 ? undefined : drillAddress
    const refused = refusedKeys(truth, ip)
    const { env } = this.options
    const wrong: string[] = []
    for (const [id, key] of issued) {
      const verdict = this.#verify(key, { ip })
      if (unread.has(id)) {
        if (verdict.valid || verdict.code === 'stale') wrong.push(`judges unread key ${id} ${verdict.code}`)
        continue
      }
      const isOther = env !== 'both' && !key.includes(`_${env}_`)
      const ended = () => this.#ended.codeOf(id, codeAtEnd(truth, id, this.options))
      const due = isOther ? 'wrong_env' : sent.has(id) ? (refused.get(id) ?? 'valid') : ended()
      // The feed names no tenant whose keys have all expired, so a node may still count it as suspended, or not yet.
      const isEither = (due === 'expired_key' || due === 'too_old') && verdict.code === 'suspended_tenant'
      if (verdict.code !== due && !isEither) wrong.push(`judges key ${id} ${verdict.code} instead of ${due}`)
      else if (verdict.valid && verdict.keyId !== id) wrong.push(`takes key ${id} for ${verdict.keyId}`)
    }
    return wrong
  }

  #ends(): Ends {
    const { store } = this.#served
    if (store === undefined) return new Map()
    const { records } = store
    return new Map(Array.from(records.slots(), slot => [records.keyId(slot), records.end(slot)]))
  }

  #open(): { sync: Sync; verify: Verify } {
    const { name, projectId, token, env, tenantIds, hasLabels = false, onOdd } = this.options
    const settings = readOptions({
      url: 'https://keyrail.invalid',
      secretKey: token,
      project: projectId,
      env,
      tenantIds,
      node: name,
      fetch: this.#fetch(),
      names: hasLabels,
      meta: hasLabels,
      ...timeless,
    })
    this.#served = emptyServed()
    const clock: Clock = { wall: () => this.#house.now(), monotonic: () => 0 }
    const served = this.#served
    const client = createFeedClient(settings)
    return {
      sync: new Sync({ client, clock, settings, served, onRaised: () => {}, onOdd }),
      verify: createVerify(served, { env, cachedTtlMs: settings.cachedTtlMs, clock }),
    }
  }

  #fetch(): typeof fetch {
    const ask = fetchFrom(this.#house.app)
    return async (input, init) => {
      const { pageSize, between, loseAnswer } = this.#plan
      const request = this.#requests++
      if (request > 0) await between?.()
      const url = new URL(String(input))
      withoutFeatures(url, this.options.lacks)
      if (pageSize === null) url.searchParams.delete('max_keys')
      else url.searchParams.set('max_keys', String(pageSize))
      const response = await ask(url, init)
      if (request === loseAnswer) throw new TypeError('the answer is lost')
      if (response.status !== 200) return response
      const { onAnswer = text => text } = this.options
      const text = onAnswer(await response.text())
      this.#answer = JSON.parse(text)
      return new Response(text, response)
    }
  }
}

/** Asks as a node of an earlier release does. */
function withoutFeatures(url: URL, lacks: readonly string[] = []): void {
  const named = url.searchParams.get('features')?.split(',') ?? []
  url.searchParams.set('features', named.filter(name => !lacks.includes(name)).join(','))
}

const emptyServed = (): Served => ({ store: undefined, hits: 0, misses: 0, evictions: 0 })
