import type { RateLimitVerdict } from '@keyrail/contract/ratelimit'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import { Refusal } from '../platform/refusal.ts'
import { toVerdict } from './answer.ts'
import type { Check } from './fold.ts'
import type { CounterStore } from './store.ts'

export interface PeekNeeds {
  readonly counters: Pick<CounterStore, 'check'>
}

/** @returns what is left of each limit, without charging any; null when the counters cannot be read. */
export async function peekLimits(
  { counters }: PeekNeeds,
  subject: Omit<Check, 'cost'>,
  deadline: Deadline,
): Promise<RateLimitVerdict['limits'] | null> {
  if (subject.rules.length === 0) return []
  const check: Check = { ...subject, cost: 0 }
  try {
    return toVerdict(check, await counters.check(check, deadline)).limits
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return null
  }
}
