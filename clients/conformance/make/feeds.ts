import { id } from '../../../packages/sdk/test/keys.ts'
import type { Case, Json } from '../case.ts'
import {
  advances,
  answers,
  asksDelta,
  asksSnapshot,
  at,
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

/** Deltas, keys that have ended, and nodes of some tenants. */

const synced = 'sync.test.ts'

const ended = 'sync-ended.test.ts'

const deltaCases: readonly Case[] = [
  {
    name: 'a delta adds, changes and revokes keys, and the next one is asked since its version',
    from: synced,
    steps: [
      answers(snapshot([record(1), record(2)])),
      polls('snapshot'),
      answers(
        delta(VERSION, VERSION + 3, [upsert(3), upsert(1, { expires_at: at(-1) }), tombstone(2)]),
        asksDelta(VERSION),
      ),
      polls('delta'),
      verifies(one, 'expired_key'),
      verifies(two, 'revoked_key'),
      verifies(three, 'valid'),
      answers(delta(VERSION + 3, VERSION + 3, []), asksDelta(VERSION + 3)),
      polls('unchanged'),
    ],
  },
  {
    name: 'an empty delta confirms keys, from when it was asked for',
    from: synced,
    steps: [
      serves,
      advances(50_000),
      answers(delta(VERSION, VERSION, [], 50_000), asksDelta(VERSION)),
      polls('unchanged'),
      advances(TTL_MS - 1),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
    ],
  },
  {
    name: 'an answer confirms from when it was asked for, however long it took',
    from: synced,
    steps: [
      serves,
      { answer: { body: delta(VERSION, VERSION, [], 8_000), advance: 8_000 }, asked: asksDelta(VERSION) },
      polls('unchanged'),
      advances(TTL_MS - 8_001),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
    ],
  },
  ...[
    [undefined, 0],
    [0, 0],
    [-1, 0],
    ['7000', 0],
    [7_000, 7_000],
    [7_000.5, 0],
    [8_000, 8_000],
    [60_000, 8_000],
  ].map(
    ([held_ms, confirmed]): Case => ({
      name: `an answer after 8 s whose held_ms is ${JSON.stringify(held_ms) ?? 'left out'} confirms from ${confirmed} ms on`,
      from: 'sync-held.test.ts',
      steps: [
        serves,
        { answer: { body: delta(VERSION, VERSION, [], 8_000, { held_ms }), advance: 8_000 } },
        polls('unchanged'),
        advances(TTL_MS - 8_001 + Number(confirmed)),
        verifies(one, 'valid'),
        advances(1),
        verifies(one, 'stale'),
      ],
    }),
  ),
  {
    name: 'an error confirms nothing',
    from: synced,
    steps: [
      serves,
      advances(30_000),
      { answer: { status: 503 } },
      { do: { op: 'poll' }, gives: { outcome: 'error', code: 'http_503' } },
      advances(29_999),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
    ],
  },
]

const gone: Json = { project_deleted: true }

const endedCases: readonly Case[] = [
  {
    name: 'a deleted project, by a delta: all keys are revoked',
    from: ended,
    steps: [
      serves,
      answers(delta(VERSION, VERSION + 1, [], 0, gone)),
      polls('delta'),
      verifies(one, 'revoked_key'),
      verifies(two, 'unknown_key'),
    ],
  },
  {
    name: 'a deleted project, by a snapshot in place of a delta: all keys are revoked',
    from: ended,
    steps: [
      serves,
      answers(snapshot([], gone, 0, VERSION + 1)),
      polls('snapshot'),
      verifies(one, 'revoked_key'),
    ],
  },
  {
    name: 'a deleted project, to a node that starts: no key is known',
    from: synced,
    steps: [answers(snapshot([], gone)), polls('snapshot'), verifies(one, 'unknown_key')],
  },
  {
    name: 'the keys in an answer of a deleted project are not served',
    from: ended,
    steps: [answers(snapshot([record(1)], gone)), polls('snapshot'), verifies(one, 'unknown_key')],
  },
  {
    name: 'a key removed after its expiry is expired, and one removed before it is revoked',
    from: ended,
    steps: [
      answers(
        snapshot([
          record(1, { expires_at: at(10_000) }),
          record(2, { expires_at: at(30_000) }),
          record(3, { expires_at: at(10_000) }),
        ]),
      ),
      polls('snapshot'),
      advances(20_000),
      answers(delta(VERSION, VERSION + 1, [tombstone(1), tombstone(2)], 20_000)),
      polls('delta'),
      verifies(one, 'expired_key'),
      verifies(two, 'revoked_key'),
      verifies(three, 'expired_key'),
    ],
  },
  {
    name: 'a snapshot ends no key and forgets no end, except of keys that it has',
    from: ended,
    steps: [
      answers(snapshot([record(1), record(2), record(3)])),
      polls('snapshot'),
      answers(delta(VERSION, VERSION + 2, [tombstone(1), tombstone(2)])),
      polls('delta'),
      answers(snapshot([record(2)], {}, 0, VERSION + 3), asksDelta(VERSION + 2)),
      polls('snapshot'),
      verifies(one, 'revoked_key'),
      verifies(two, 'valid'),
      verifies(three, 'unknown_key'),
    ],
  },
]

const [a, b, c] = [id(0xa000), id(0xa001), id(0xa002)]

const tenantCases: readonly Case[] = [
  {
    name: 'a node of some tenants asks for each once, and takes no key of another tenant',
    from: 'sync-bounds.test.ts',
    open: { tenants: [b, a, b] },
    steps: [
      answers(snapshot([record(1), record(2, { tenant_id: b })]), {
        ...asksSnapshot,
        query: { ...asksSnapshot.query, tenant_id: `${a},${b}` },
      }),
      polls('snapshot'),
      verifies(one, 'valid', { tenant_id: a }),
      verifies(two, 'valid', { tenant_id: b }),
      answers(delta(VERSION, VERSION + 1, [upsert(3, { tenant_id: c })]), {
        path: '/v1/policy/delta',
        query: { tenant_id: `${a},${b}` },
      }),
      polls('delta', { reports: ['unreadable_key'] }),
      verifies(three, 'unknown_key'),
    ],
  },
]

export const feeds: readonly Case[] = [...deltaCases, ...endedCases, ...tenantCases]
