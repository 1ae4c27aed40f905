import { id } from '../../../packages/sdk/test/keys.ts'
import type { Case, Json, Step } from '../case.ts'
import { BEGINS_AT, defaults } from '../run.ts'
import {
  advances,
  answers,
  asksDelta,
  asksSnapshot,
  at,
  delta,
  fails,
  one,
  polls,
  record,
  serves,
  snapshot,
  TTL_MS,
  tombstone,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'

/** The copy of the keys on a disk: what the next process takes from it. */

export const from = 'cache.test.ts'

const HOUR_MS = 3_600_000

export const open = { cache_dir: true }

export const save: Step = { do: { op: 'save' } }

/** The next process, so long after the beginning. */
export const opens = (after: number, reports: readonly string[] = [], more: Json = {}): Step => ({
  do: { op: 'open', wall: BEGINS_AT + after, uptime: defaults.uptime + after, ...more },
  gives: { reports },
})

const isReady = (ready: boolean): Step => ({ do: { op: 'ready' }, gives: { ready } })

export const cold: readonly Step[] = [isReady(false), verifies(one, 'not_ready')]

/** A first poll takes a snapshot, whatever lay on the disk. */
export const takesAll = (after: number): Step[] => [
  answers(snapshot([record(1)], {}, after), asksSnapshot),
  polls('snapshot'),
  verifies(one, 'valid'),
]

const resumeCases: readonly Case[] = [
  {
    name: 'the next process serves the saved keys for the rest of their time, and asks at once for a delta',
    from,
    open,
    steps: [
      serves,
      save,
      opens(59_998),
      isReady(true),
      verifies(one, 'valid', { key_id: id(1) }),
      verifies(two, 'unknown_key'),
      advances(1),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
      answers(delta(VERSION, VERSION + 1, [upsert(2)], TTL_MS), asksDelta(VERSION, { prefer: null })),
      polls('delta'),
      verifies(one, 'valid'),
      verifies(two, 'valid'),
    ],
  },
  {
    name: 'the first request of a process with saved keys is not held, the next is',
    from: 'sync.test.ts',
    open,
    steps: [
      serves,
      save,
      opens(1_000),
      answers(delta(VERSION, VERSION, [], 1_000), asksDelta(VERSION, { prefer: null })),
      polls('unchanged'),
      answers(delta(VERSION, VERSION, [], 1_000), asksDelta(VERSION, { prefer: 'wait=25' })),
      polls('unchanged'),
    ],
  },
  {
    name: 'keys that were revoked while no process ran are refused after the first answer',
    from,
    open,
    steps: [
      serves,
      save,
      opens(10_000),
      verifies(one, 'valid'),
      answers(delta(VERSION, VERSION + 1, [tombstone(1)], 10_000)),
      polls('delta'),
      verifies(one, 'revoked_key'),
    ],
  },
  {
    name: 'saved keys that are a minute old are not served, but give the version to continue from',
    from,
    open,
    steps: [
      serves,
      save,
      opens(TTL_MS),
      isReady(false),
      verifies(one, 'stale'),
      answers(delta(VERSION, VERSION, [], TTL_MS), asksDelta(VERSION, { prefer: null })),
      polls('unchanged'),
      isReady(true),
      verifies(one, 'valid'),
    ],
  },
  {
    name: 'the age counts from the confirmation, not from the write',
    from,
    open,
    steps: [
      serves,
      advances(30_000),
      save,
      opens(TTL_MS - 1),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
    ],
  },
  {
    name: 'the saved keys are those of the last answer',
    from,
    open,
    steps: [
      serves,
      advances(20_000),
      answers(delta(VERSION, VERSION + 1, [tombstone(1), upsert(2)], 20_000)),
      polls('delta'),
      save,
      opens(79_999),
      verifies(two, 'valid'),
      verifies(one, 'unknown_key'),
      answers(delta(VERSION + 1, VERSION + 1, [], 79_999), asksDelta(VERSION + 1)),
      polls('unchanged'),
    ],
  },
  {
    name: 'a failing service, to a process with saved keys: they are served until they are stale',
    from: 'keyring-disk.test.ts',
    open,
    steps: [
      serves,
      save,
      opens(10_000),
      { answer: { status: 401, body: { code: 'unauthenticated', status: 401 } } },
      fails('unauthenticated'),
      verifies(one, 'valid'),
      advances(50_000),
      verifies(one, 'stale'),
    ],
  },
  {
    name: 'limits, scopes, expiry, external id and meta are saved',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      answers(
        snapshot(
          [
            record(1, {
              scopes: ['a', 'b'],
              expires_at: at(30_000),
              rate_limits: [{ id: 'x', limit: 5, window_ms: 1_000, algorithm: 'fixed', scope: 'key' }],
              meta: { plan: 'gold' },
            }),
          ],
          {
            features: ['external_id', 'key_meta'],
            tenants: [{ tenant_id: id(0xa000), external_id: 'acme' }],
          },
        ),
      ),
      polls('snapshot'),
      save,
      opens(29_999),
      verifies(one, 'valid', {
        scopes: ['a', 'b'],
        expires_at: BEGINS_AT + 30_000,
        limits: [{ id: 'x', limit: 5, window_ms: 1_000, algorithm: 'fixed', scope: 'key' }],
        meta: { plan: 'gold' },
        external_id: 'acme',
        tenant_id: id(0xa000),
      }),
      advances(1),
      verifies(one, 'expired_key'),
    ],
  },
]

const clockCases: readonly Case[] = [
  {
    name: 'a clock that was set back makes no saved key fresh: the uptime counts',
    from,
    open,
    steps: [
      serves,
      save,
      opens(2 * HOUR_MS, [], { wall: BEGINS_AT }),
      isReady(false),
      verifies(one, 'stale'),
    ],
  },
  {
    name: 'keys that were saved in the future are not served',
    from,
    open,
    steps: [serves, save, opens(1_000, [], { wall: BEGINS_AT - 1 }), isReady(false), verifies(one, 'stale')],
  },
  {
    name: 'a clock that was set ahead makes saved keys old',
    from,
    open,
    steps: [
      serves,
      save,
      opens(1_000, [], { wall: BEGINS_AT + HOUR_MS }),
      isReady(false),
      verifies(one, 'stale'),
    ],
  },
  {
    name: 'after a restart of the machine the wall clock gives the age',
    from,
    open,
    steps: [serves, save, opens(30_000, [], { uptime: 2_000 }), isReady(true), verifies(one, 'valid')],
  },
  {
    name: 'expiry is judged by the time of the service that was saved, where the clock of the machine is behind',
    from: 'service-time.test.ts',
    open: { ...open, wall: BEGINS_AT - HOUR_MS },
    steps: [
      answers(snapshot([record(1, { expires_at: at(10_000) }), record(2)])),
      polls('snapshot'),
      save,
      opens(9_999, [], { wall: BEGINS_AT - HOUR_MS + 9_999 }),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'expired_key'),
      verifies(two, 'valid'),
    ],
  },
]

export const disks: readonly Case[] = [...resumeCases, ...clockCases]
