import type { Clock } from '../runtime/clock.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { Store } from '../store/store.ts'
import type { Served } from '../verify/verify.ts'
import type { FeedClient } from './client.ts'
import type { Polled } from './pace.ts'
import type { KeyQuota } from './quota.ts'
import type { Scope } from './record.ts'

/** The inputs and outputs of `Sync`. */

export type SyncResult = Omit<Polled, 'unphased' | 'tookMs'>

/** The keys that a node holds, from which the next process continues. */
export interface Kept {
  store: Store
  version: number
  workspaceId: string
  /** True: a key that is missing here does not exist in the service either. */
  isWhole: boolean
  /** The features that the service knew when it sent the keys. */
  features?: readonly string[]
}

/** The settings that decide what a node asks for and holds. */
export interface SyncSettings extends KeyQuota {
  scope: Scope
  node: string
  cachedTtlMs: number
  /** Whether the node counts refusals. */
  countsRefusals?: boolean | undefined
}

/** The time in the body of an answer, when its request was sent, and what its headers say. */
export interface AnswerTimes {
  generatedAt: number
  date: number | undefined
  ageSeconds: number
  sentAt: number
}

export interface SyncDeps {
  client: FeedClient
  clock: Clock
  settings: SyncSettings
  served: Served
  onRaised: (maxKeys: number) => void
  /** Called after each poll with the number of keys that the node holds, and the most that it may hold. */
  onHeld?: ((keys: number, most: number) => void) | undefined
  /** Called for each answer in which the service leaves out names and the `meta` of tenants. */
  onUnlabelled?: (() => void) | undefined
  /** Called for each answer: whether the service takes reports of refusals. */
  onRefusals?: ((areTaken: boolean) => void) | undefined
  /** Receives errors about answers that were applied nevertheless. */
  onOdd?: ((error: KeyrailError) => void) | undefined
  /** Receives the times of each answer. Returns when the answer was given, at most `sentAt`. */
  onTime?: ((times: AnswerTimes) => number) | undefined
}
