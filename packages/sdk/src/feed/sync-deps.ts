import type { Polled } from '../http/schedule.ts'
import type { Clock } from '../runtime/clock.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { Store } from '../store/store.ts'
import type { Served } from '../verify/verify.ts'
import type { FeedClient } from './client.ts'
import type { Scope } from './record.ts'

/** What a node that follows the feed is given, what it tells, and what it leaves to the next. */

export type SyncResult = Omit<Polled, 'unphased' | 'tookMs'>

/** What a node holds, for whoever goes on from it. */
export interface Kept {
  store: Store
  version: number
  workspaceId: string
  /** Whether a key that is missing is missing in the service as well. */
  isWhole: boolean
  /** What it holds beyond keys: the features that the service knew when it told of them. */
  features?: readonly string[]
}

/** What a node was made with, as far as it steers what is asked for and held. */
export interface SyncSettings {
  scope: Scope
  node: string
  cachedTtlMs: number
  maxCachedKeys: number
  maxAutoCachedKeys: number
}

/** What an answer says of the time: of its body, if it has one, and of itself; and when it was asked for. */
export interface Told {
  generatedAt: number | undefined
  date: number | undefined
  sentAt: number
}

export interface SyncDeps {
  client: FeedClient
  clock: Clock
  settings: SyncSettings
  served: Served
  onRaised: (maxKeys: number) => void
  /** Told of what is wrong with an answer that was taken all the same. */
  onOdd?: ((error: KeyrailError) => void) | undefined
  /** Told what each answer says of the service's time. Says when the answer was given, at most `sentAt`. */
  onTime?: ((told: Told) => number) | undefined
}
