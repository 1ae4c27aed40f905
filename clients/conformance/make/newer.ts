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
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'

/** Answers of caches, and of services that know more or less than the node. */

const old = (after: number, more: Json = {}): Step => ({
  answer: {
    body: delta(VERSION, VERSION, [], after),
    headers: { age: '9', date: new Date(BEGINS_AT + 3_600_000).toUTCString() },
  },
  asked: asksDelta(VERSION, more),
})

const cacheCases: readonly Case[] = [
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

const [a, b] = [id(0xa000), id(0xa001)]

const features = ['external_id', 'key_meta']

const tenant = { tenant_id: a, external_id: 'acme-1' }

const asksFeatures = { features }

const featureCases: readonly Case[] = [
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

export const newer: readonly Case[] = [...cacheCases, ...featureCases]
