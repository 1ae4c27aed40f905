import type { Case, Step } from '../case.ts'
import {
  advances,
  answers,
  asksDelta,
  delta,
  one,
  polls,
  record,
  serves,
  snapshot,
  TTL_MS,
  three,
  tombstone,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'
import { page } from './walks.ts'

/** Walks that take long, and more keys than a node may hold. */

/** A page that takes so long, and comes so long after the beginning. */
const slow = (
  advance: number,
  after: number,
  next: string | null,
  cursor: string,
  numbers: readonly number[],
): Step => ({
  answer: {
    advance,
    body: snapshot(
      numbers.map(number => record(number)),
      { next_cursor: next },
      after,
      VERSION + 1,
    ),
  },
  asked: { query: { cursor } },
})

const slowCases: readonly Case[] = [
  {
    name: 'a walk that takes more than half of the life is reported, and its keys count from its beginning',
    from: 'sync-bounds.test.ts',
    steps: [
      serves,
      page([1], 'a', 'delta'),
      slow(31_000, 31_000, 'b', 'a', [2]),
      slow(0, 31_000, null, 'b', [3]),
      polls('snapshot', { reports: ['slow_snapshot'] }),
      verifies(three, 'valid'),
      advances(TTL_MS - 31_001),
      verifies(three, 'valid'),
      advances(1),
      verifies(three, 'stale'),
    ],
  },
  {
    name: 'a walk is given up before the held keys are stale',
    from: 'sync-bounds.test.ts',
    steps: [
      serves,
      page([1], 'a', 'delta'),
      slow(28_000, 28_000, 'b', 'a', [2]),
      slow(28_000, 56_000, 'c', 'b', [3]),
      { do: { op: 'poll' }, gives: { outcome: 'error', code: 'slow_snapshot', delay: [100, 2_000] } },
      verifies(one, 'valid'),
      verifies(three, 'unknown_key'),
    ],
  },
  {
    name: 'a first walk longer than the life: its keys wait for the next answer',
    from: 'sync-bounds.test.ts',
    steps: [
      page([1], 'a', 'first'),
      slow(TTL_MS, TTL_MS, null, 'a', [2]),
      polls('snapshot'),
      { do: { op: 'ready' }, gives: { ready: false } },
      verifies(one, 'stale'),
      answers(delta(VERSION + 1, VERSION + 1, [], TTL_MS), asksDelta(VERSION + 1, { prefer: null })),
      polls('unchanged'),
      { do: { op: 'ready' }, gives: { ready: true } },
      verifies(one, 'valid'),
    ],
  },
]

const boundCases: readonly Case[] = [
  {
    name: 'a key that returns after its revocation, and then has no room, is not held, and not revoked',
    from: 'sync-ended.test.ts',
    open: { max_keys: 2 },
    steps: [
      answers(snapshot([record(1)])),
      { do: { op: 'poll' }, gives: { outcome: 'snapshot' } },
      answers(delta(VERSION, VERSION + 1, [tombstone(1)])),
      { do: { op: 'poll' }, gives: { outcome: 'delta' } },
      verifies(one, 'revoked_key'),
      answers(delta(VERSION + 1, VERSION + 2, [upsert(1)])),
      { do: { op: 'poll' }, gives: { outcome: 'delta' } },
      verifies(one, 'valid'),
      answers(delta(VERSION + 2, VERSION + 4, [upsert(2), upsert(3)])),
      { do: { op: 'poll' }, gives: { outcome: 'delta' } },
      verifies(one, 'not_held'),
      verifies(two, 'valid'),
      verifies(three, 'valid'),
    ],
  },
  {
    name: 'a revoked key that comes back in a snapshot for which there is no room is not held, and not revoked',
    from: 'sync-ended.test.ts',
    open: { max_keys: 2 },
    steps: [
      answers(snapshot([record(1), record(2)])),
      { do: { op: 'poll' }, gives: { outcome: 'snapshot' } },
      answers(delta(VERSION, VERSION, [tombstone(1), upsert(3)])),
      { do: { op: 'poll' }, gives: { outcome: 'delta' } },
      verifies(one, 'revoked_key'),
      page([1, 2, 3], null, 'delta'),
      { do: { op: 'poll' }, gives: { outcome: 'snapshot' } },
      verifies(one, 'not_held'),
      verifies(two, 'valid'),
      verifies(three, 'valid'),
    ],
  },
  {
    name: 'more keys than a node may hold: it does not start',
    from: 'sync-bounds.test.ts',
    open: { max_keys: 2 },
    steps: [
      page([1, 2], 'a', 'first'),
      page([3], null, { cursor: 'a' }),
      { do: { op: 'poll' }, gives: { outcome: 'error', code: 'policy_scope_too_large', delay: null } },
      verifies(one, 'not_ready'),
    ],
  },
  {
    name: 'a snapshot with more keys than a node may hold: it keeps those that it held',
    from: 'sync-bounds.test.ts',
    open: { max_keys: 2 },
    steps: [
      answers(snapshot([record(2), record(3)])),
      { do: { op: 'poll' }, gives: { outcome: 'snapshot' } },
      page([1, 2, 3], null, 'delta'),
      { do: { op: 'poll' }, gives: { outcome: 'snapshot' } },
      verifies(one, 'not_held'),
      verifies(two, 'valid'),
      verifies(three, 'valid'),
    ],
  },
  {
    name: 'a change beyond what a node may hold drops a key, which is then not held',
    from: 'sync-bounds.test.ts',
    open: { max_keys: 2 },
    steps: [
      answers(snapshot([record(1), record(2)])),
      { do: { op: 'poll' }, gives: { outcome: 'snapshot' } },
      // The least recently used key goes.
      verifies(two, 'valid'),
      verifies(one, 'valid'),
      answers(delta(VERSION, VERSION + 1, [upsert(3)])),
      { do: { op: 'poll' }, gives: { outcome: 'delta' } },
      verifies(one, 'valid'),
      verifies(three, 'valid'),
      verifies(two, 'not_held'),
    ],
  },
]

export const bounds: readonly Case[] = [...slowCases, ...boundCases]
