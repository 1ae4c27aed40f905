import type { CounterStore } from './store.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface RatelimitNeeds {
  readonly counters: Pick<CounterStore, 'check'>
  readonly countRateLimit: (verdict: 'allowed' | 'denied') => void
}
