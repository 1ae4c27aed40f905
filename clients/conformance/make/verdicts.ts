import { id } from '../../../packages/sdk/test/keys.ts'
import type { Case, Step } from '../case.ts'
import { BEGINS_AT } from '../run.ts'
import {
  advances,
  answers,
  asksSnapshot,
  at,
  delta,
  liveKey,
  one,
  polls,
  record,
  serves,
  snapshot,
  TTL_MS,
  testKey,
  two,
  VERSION,
  verifies,
} from './fixtures.ts'

/** Until when a key is valid, and what a verdict says. */

export const from = 'verify.test.ts'

export const holds = (...keys: unknown[]): Step[] => [
  answers(snapshot(keys), asksSnapshot),
  polls('snapshot'),
]

const expiryCases: readonly Case[] = [
  {
    name: 'a key is valid up to the millisecond before its expiry',
    from,
    steps: [
      ...holds(record(1, { expires_at: at(5_000) })),
      advances(4_999),
      verifies(one, 'valid', { expires_at: BEGINS_AT + 5_000 }),
      advances(1),
      verifies(one, 'expired_key'),
    ],
  },
  {
    name: 'a key that has expired when the node starts',
    from,
    steps: [...holds(record(1, { expires_at: at(0) })), verifies(one, 'expired_key')],
  },
  {
    name: 'an expiry with an offset and one with microseconds are read',
    from,
    steps: [
      ...holds(
        record(1, { expires_at: '2027-01-01T02:00:01+02:00' }),
        record(2, { expires_at: '2027-01-01T00:00:02.500Z' }),
      ),
      verifies(one, 'valid', { expires_at: BEGINS_AT + 1_000 }),
      verifies(two, 'valid', { expires_at: BEGINS_AT + 2_500 }),
      advances(1_000),
      verifies(one, 'expired_key'),
      verifies(two, 'valid'),
      advances(1_500),
      verifies(two, 'expired_key'),
    ],
  },
  {
    name: 'expiry is judged by the time of the service, where the clock of the machine is an hour behind',
    from: 'service-time.test.ts',
    open: { wall: BEGINS_AT - 3_600_000 },
    steps: [
      ...holds(record(1, { expires_at: at(1_000) }), record(2, { expires_at: at(-1) })),
      verifies(one, 'valid'),
      verifies(two, 'expired_key'),
      advances(1_000),
      verifies(one, 'expired_key'),
    ],
  },
  {
    name: 'expiry is judged by the time of the service, where the clock of the machine is an hour ahead',
    from: 'service-time.test.ts',
    open: { wall: BEGINS_AT + 3_600_000 },
    steps: [
      ...holds(record(1, { expires_at: at(1_000) })),
      verifies(one, 'valid'),
      advances(1_000),
      verifies(one, 'expired_key'),
    ],
  },
  ...[-3_600_000, 3_600_000].map(
    (wall): Case => ({
      name: `the clock of the machine is set ${wall < 0 ? 'back' : 'ahead'} by an hour: no key ends, and none lives longer`,
      from,
      steps: [
        ...holds(record(1, { expires_at: at(30_000) }), record(2)),
        advances(1_000, { wall }),
        verifies(one, 'valid'),
        advances(28_999),
        verifies(one, 'valid'),
        advances(1),
        verifies(one, 'expired_key'),
        verifies(two, 'valid'),
        advances(29_999),
        verifies(two, 'valid'),
        advances(1),
        verifies(two, 'stale'),
      ],
    }),
  ),
]

const staleCases: readonly Case[] = [
  {
    name: 'a key is served for a minute after it was confirmed, to the millisecond',
    from,
    steps: [
      serves,
      advances(TTL_MS - 1),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
      verifies(liveKey(9), 'stale'),
      advances(1),
      verifies(one, 'stale'),
    ],
  },
  {
    name: 'keys are served for the time of cached_ttl',
    from,
    open: { cached_ttl: 10_000 },
    steps: [serves, advances(9_999), verifies(one, 'valid'), advances(1), verifies(one, 'stale')],
  },
  {
    name: 'the time counts from when the request was sent',
    from: 'sync.test.ts',
    steps: [
      { answer: { body: snapshot([record(1)], {}, 3_000), advance: 3_000 } },
      polls('snapshot'),
      advances(TTL_MS - 3_001),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
    ],
  },
  {
    name: 'of several reasons the first is the verdict',
    from,
    steps: [
      verifies('', 'missing_key', {}, { scopes: ['none'] }),
      verifies('a b', 'malformed_key'),
      verifies(testKey(1), 'wrong_env'),
      verifies(one, 'not_ready', {}, { scopes: ['none'] }),
      ...holds(record(1, { expires_at: at(0) }), record(2, { expires_at: at(90_000) })),
      verifies(liveKey(9), 'unknown_key', {}, { scopes: ['none'] }),
      verifies(one, 'expired_key', {}, { scopes: ['none'] }),
      verifies(two, 'insufficient_scope', {}, { scopes: ['none'] }),
      advances(TTL_MS),
      verifies(one, 'stale', {}, { scopes: ['none'] }),
      verifies(testKey(1), 'wrong_env'),
    ],
  },
]

const contentCases: readonly Case[] = [
  {
    name: 'a verdict says whose key it is, and what the vendor noted about it',
    from: 'whose.test.ts',
    steps: [
      answers(
        snapshot(
          [record(1, { meta: { plan: 'gold', seats: [1, 2] } }), record(2, { meta: null }), record(3)],
          {
            features: ['external_id', 'key_meta'],
            tenants: [{ tenant_id: id(0xa000), external_id: 'customer-7' }],
          },
        ),
      ),
      polls('snapshot'),
      verifies(one, 'valid', {
        key_id: id(1),
        tenant_id: id(0xa000),
        env: 'live',
        scopes: [],
        expires_at: null,
        limits: null,
        external_id: 'customer-7',
        meta: { plan: 'gold', seats: [1, 2] },
      }),
      verifies(two, 'valid', { external_id: 'customer-7', meta: null }),
      verifies(liveKey(3), 'valid', { external_id: 'customer-7', meta: null }),
    ],
  },
  {
    name: 'a verdict of a service that knows no features has no external id and no meta',
    from: 'whose.test.ts',
    steps: [serves, verifies(one, 'valid', { external_id: null, meta: null, limits: null })],
  },
  {
    name: 'a tenant gets another external id by a delta',
    from: 'whose.test.ts',
    steps: [
      answers(
        snapshot([record(1)], {
          features: ['external_id', 'key_meta'],
          tenants: [{ tenant_id: id(0xa000), external_id: 'old' }],
        }),
      ),
      polls('snapshot'),
      answers(
        delta(VERSION, VERSION + 1, [], 0, {
          features: ['external_id', 'key_meta'],
          tenants: [{ tenant_id: id(0xa000), external_id: 'new' }],
        }),
      ),
      polls('delta'),
      verifies(one, 'valid', { external_id: 'new' }),
    ],
  },
]

export const verdicts: readonly Case[] = [...expiryCases, ...staleCases, ...contentCases]
