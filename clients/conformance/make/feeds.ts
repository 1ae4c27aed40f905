import { id } from '../../../packages/sdk/test/keys.ts'
import type { Case, Json, Step } from '../case.ts'
import { BEGINS_AT } from '../run.ts'
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

/** Deltas, keys that have ended, old answers, other tenants, and services that know more. */

const synced = 'sync.test.ts'
const ended = 'sync-ended.test.ts'

const deltaCases = (): Case[] => [
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
const endedCases = (): Case[] => [
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

const old = (after: number, more: Json = {}): Step => ({
  answer: {
    body: delta(VERSION, VERSION, [], after),
    headers: { age: '9', date: new Date(BEGINS_AT + 3_600_000).toUTCString() },
  },
  asked: asksDelta(VERSION, more),
})

const cacheCases = (): Case[] => [
  {
    name: 'a frozen cache: keys go stale, with one report, and no answer is held until one is new',
    from: 'caches.test.ts',
    steps: [
      serves,
      advances(4_000),
      old(0, { prefer: 'wait=23' }),
      polls('unchanged'),
      advances(5_000),
      old(0),
      polls('unchanged', { reports: ['cached_answer'] }),
      verifies(one, 'valid'),
      advances(41_000),
      old(0, { prefer: null }),
      polls('unchanged'),
      advances(9_999),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
      old(0, { prefer: null }),
      polls('unchanged'),
      verifies(one, 'stale'),
      answers(delta(VERSION, VERSION, [], TTL_MS), asksDelta(VERSION, { prefer: null })),
      polls('unchanged'),
      verifies(one, 'valid'),
      answers(delta(VERSION, VERSION, [], TTL_MS), asksDelta(VERSION, { prefer: 'wait=25' })),
      polls('unchanged'),
    ],
  },
  {
    name: 'an old answer does not set the time back: an expired key stays expired',
    from: 'caches.test.ts',
    steps: [
      answers(snapshot([record(1, { expires_at: at(20_000) })])),
      polls('snapshot'),
      advances(20_000),
      answers(delta(VERSION, VERSION, [], 20_000)),
      polls('unchanged'),
      verifies(one, 'expired_key'),
      old(0),
      polls('unchanged', { reports: ['date_back'] }),
      verifies(one, 'expired_key'),
    ],
  },
  {
    name: 'an old snapshot in place of a delta does not replace keys that live',
    from: 'caches.test.ts',
    steps: [
      serves,
      advances(50_000),
      answers(delta(VERSION, VERSION + 1, [upsert(2)], 50_000)),
      polls('delta'),
      advances(15_000),
      answers(snapshot([record(1)], {}, 0), asksDelta(VERSION + 1)),
      { do: { op: 'poll' }, gives: { outcome: 'error', code: 'cached_answer' } },
      verifies(two, 'valid'),
    ],
  },
  {
    name: 'an old first snapshot counts from its time, once the time of the service is known',
    from: 'caches.test.ts',
    steps: [
      answers(snapshot([record(1)], {}, -30_000)),
      polls('snapshot'),
      verifies(one, 'valid'),
      advances(1_000),
      // Now the clock of the service is known, and nothing of that time confirms.
      answers(delta(VERSION, VERSION, [], 1_000)),
      polls('unchanged'),
      advances(TTL_MS - 1),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
    ],
  },
]

const [a, b, c] = [id(0xa000), id(0xa001), id(0xa002)]
const tenantCases = (): Case[] => [
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

const features = ['external_id', 'key_meta']
const tenant = { tenant_id: a, external_id: 'acme-1' }
const asksFeatures = { features }

const featureCases = (): Case[] => [
  {
    name: 'a node asks for external ids and meta, with every request',
    from: 'newer.test.ts',
    steps: [
      answers(snapshot([record(1)]), { ...asksSnapshot, ...asksFeatures }),
      polls('snapshot'),
      answers(delta(VERSION, VERSION, []), { ...asksDelta(VERSION), features: [...features, 'held_ms'] }),
      polls('unchanged'),
    ],
  },
  {
    name: 'after an upgrade of the service to features keys are taken anew, once',
    from: 'newer.test.ts',
    steps: [
      serves,
      answers(delta(VERSION, VERSION, [], 0, { features, tenants: [] }), asksDelta(VERSION)),
      answers(snapshot([record(1, { meta: { a: 1 } })], { features, tenants: [tenant] }), asksSnapshot),
      polls('snapshot'),
      verifies(one, 'valid', { external_id: 'acme-1', meta: { a: 1 } }),
      answers(delta(VERSION, VERSION, [], 0, { features, tenants: [] }), asksDelta(VERSION)),
      polls('unchanged'),
    ],
  },
  {
    name: 'features that a node did not ask for are no reason to take keys anew',
    from: 'newer.test.ts',
    steps: [
      serves,
      answers(delta(VERSION, VERSION, [], 0, { features: ['weather', 'labels'] }), asksDelta(VERSION)),
      polls('unchanged'),
    ],
  },
  {
    name: 'external ids and meta that cannot be read are left out, and the key is served',
    from: 'newer.test.ts',
    steps: [
      answers(
        snapshot([record(1, { meta: 'gold' }), record(2, { meta: [1], tenant_id: b })], {
          features: 'all',
          tenants: [null, { tenant_id: 7 }, { tenant_id: a, external_id: {} }, 'x'],
        }),
      ),
      polls('snapshot'),
      verifies(one, 'valid', { external_id: null, meta: null }),
      verifies(two, 'valid', { external_id: null, meta: null }),
    ],
  },
  {
    name: 'an upsert brings another meta, and an empty one is empty',
    from: 'newer.test.ts',
    steps: [
      answers(snapshot([record(1, { meta: { plan: 'gold' } })], { features, tenants: [tenant] })),
      polls('snapshot'),
      verifies(one, 'valid', { meta: { plan: 'gold' } }),
      answers(delta(VERSION, VERSION + 1, [upsert(1, { meta: {} })], 0, { features, tenants: [tenant] })),
      polls('delta'),
      verifies(one, 'valid', { meta: {}, external_id: 'acme-1' }),
    ],
  },
  {
    name: 'answers are read compressed',
    from: 'over-node.test.ts',
    steps: [
      { answer: { body: snapshot([record(1)]), gzip: true }, asked: asksSnapshot },
      polls('snapshot'),
      verifies(one, 'valid'),
      { answer: { body: delta(VERSION, VERSION + 1, [upsert(2)]), gzip: true } },
      polls('delta'),
      verifies(two, 'valid'),
    ],
  },
]

export const feeds = (): Case[] => [
  ...deltaCases(),
  ...endedCases(),
  ...cacheCases(),
  ...tenantCases(),
  ...featureCases(),
]
