import { decodeSnapshot, encodeSnapshot } from '../../packages/sdk/src/disk/snapshot-file.ts'
import { createFeedClient } from '../../packages/sdk/src/feed/client.ts'
import { Sync } from '../../packages/sdk/src/feed/sync.ts'
import type { SyncResult } from '../../packages/sdk/src/feed/sync-deps.ts'
import { readOptions } from '../../packages/sdk/src/keyring/options.ts'
import type { Clock } from '../../packages/sdk/src/runtime/clock.ts'
import { KeyrailError } from '../../packages/sdk/src/runtime/errors.ts'
import { createVerify, type Served, type Verify } from '../../packages/sdk/src/verify/verify.ts'
import { EndedModel, type Ends, type Told } from './feed-ended.ts'
import { type FeedHouse, fetchFrom } from './feed-house.ts'
import { differences, heldKeys, type Sight, type Truth, usableKeys } from './feed-truth.ts'

/** How one poll is to go. */
export interface PollPlan {
  /** `max_keys` of every request; null: none is sent. */
  pageSize: number | null
  /** Done between two pages of a walk. */
  between?: () => Promise<void>
  /** The answer of which request is lost on its way back, from 0; the service has heard the request. */
  loseAnswer?: number
}

export type Polled = { result: SyncResult; error?: never } | { result?: never; error: KeyrailError }

export interface NodeOptions extends Sight {
  name: string
  projectId: string
  token: string
  /** What is done to every answer on its way; a drill that tests itself forges with it. */
  onAnswer?: (text: string) => string
}

/** Changes nothing, so no keyring waits for an answer and none is stale. */
const timeless = { cachedTtlMs: 10_000 }

/**
 * A node of a fleet: the SDK's own client, sync, store and verification, without its timer, so that every poll
 * comes when it is told to.
 */
export class FeedNode {
  readonly options: NodeOptions
  readonly #house: FeedHouse
  #plan: PollPlan = { pageSize: null }
  #requests = 0
  #told: Told | null = null
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

  /** Starts the process anew: it knows nothing. */
  restart(): void {
    const { sync, verify } = this.#open()
    this.#sync = sync
    this.#verify = verify
    this.#ended.began(this.#ends())
  }

  /** Starts the process anew, from what it has written down; the way to a disk and back is not gone. */
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

  /** Claims a version that the service has not come to, as after a restore of an old backup. */
  runAhead(by: number): void {
    if (this.#sync.version !== undefined) this.#sync.version += by
  }

  /** One poll, to the end of its walk. */
  async poll(plan: PollPlan): Promise<Polled> {
    this.#plan = plan
    this.#requests = 0
    this.#told = null
    try {
      const result = await this.#sync.poll(new AbortController().signal)
      this.#ended.heard(this.#ends(), this.#told)
      return { result }
    } catch (error) {
      if (error instanceof KeyrailError) return { error }
      throw error
    }
  }

  /** In what the store differs from the truth at this moment; empty when in nothing. */
  differsFrom(truth: Truth): string[] {
    const usable = usableKeys(truth, this.options, this.#house.now())
    return differences(usable, this.held(truth))
  }

  held(truth: Truth): Map<string, string> {
    const { store } = this.#served
    if (store === undefined) return new Map()
    return heldKeys({ records: store.records, find: digest => store.find(digest) }, truth, this.#house.now())
  }

  /** Ids of keys whose verdict is not the one that is due, for the reason that this node can know. */
  misjudges(truth: Truth, issued: ReadonlyMap<string, string>): string[] {
    const usable = usableKeys(truth, this.options, this.#house.now())
    const { env } = this.options
    const wrong: string[] = []
    for (const [id, key] of issued) {
      const verdict = this.#verify(key)
      const isOther = env !== 'both' && !key.includes(`_${env}_`)
      const due = isOther ? 'wrong_env' : usable.has(id) ? 'valid' : this.#ended.codeOf(id)
      if (verdict.code !== due) wrong.push(`judges key ${id} ${verdict.code} instead of ${due}`)
      else if (verdict.valid && verdict.keyId !== id) wrong.push(`takes key ${id} for ${verdict.keyId}`)
    }
    return wrong
  }

  #ends(): Ends {
    const { store } = this.#served
    if (store === undefined) return new Map()
    const { records } = store
    return new Map(Array.from(records.slots(), slot => [records.keyId(slot), records.expiresAt(slot)]))
  }

  #open(): { sync: Sync; verify: Verify } {
    const { name, projectId, token, env, tenantIds } = this.options
    const settings = readOptions({
      baseUrl: 'https://keyrail.invalid',
      secretKey: token,
      projectId,
      env,
      tenantIds,
      node: name,
      fetch: this.#fetch(),
      ...timeless,
    })
    this.#served = emptyServed()
    const clock: Clock = { wall: () => this.#house.now(), monotonic: () => 0 }
    const served = this.#served
    const client = createFeedClient(settings)
    return {
      sync: new Sync({ client, clock, settings, served, onRaised: () => {} }),
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
      if (pageSize === null) url.searchParams.delete('max_keys')
      else url.searchParams.set('max_keys', String(pageSize))
      const response = await ask(url, init)
      if (request === loseAnswer) throw new TypeError('the answer is lost')
      if (response.status !== 200) return response
      const { onAnswer = text => text } = this.options
      const text = onAnswer(await response.text())
      this.#told = JSON.parse(text)
      return new Response(text, response)
    }
  }
}

const emptyServed = (): Served => ({ store: undefined, hits: 0, misses: 0, evictions: 0 })
