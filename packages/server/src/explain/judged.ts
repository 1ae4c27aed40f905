import type { LimitState } from '@keyrail/contract/ratelimit'
import type { Env } from '@keyrail/contract/shared'
import type { Static } from 'typebox'
import type { KeyFacts } from '../keys/facts.ts'

export type Limit = Static<typeof LimitState>

/** What a key is judged by. */
export interface Judged {
  readonly facts: KeyFacts
  /** The environment that the text of the key names; null: it names none, or the text is not known. */
  readonly textEnv: Env | null
  /** The scopes that the request needs. */
  readonly scopes: readonly string[]
  /** Where the request comes from; null: nobody knows. */
  readonly address: string | null
  /** Whether the caller may not see what the tenant allows. */
  readonly hidesTenant: boolean
  /** Another time than now; null: now. Without one no time that a process has written is compared with the store's. */
  readonly asOf: Date | null
  /** The limits as they are now. Null: the counters could not be read. */
  readonly limits: readonly Limit[] | null
}
