import { id } from '../../../packages/sdk/test/keys.ts'
import type { Case, Json } from '../case.ts'
import {
  answers,
  asksDelta,
  asksSnapshot,
  delta,
  liveKey,
  one,
  polls,
  record,
  serves,
  snapshot,
  three,
  tombstone,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'

/** Records that a node cannot read: each costs only its own key. Changes, and why keys have ended. */

const from = 'records.test.ts'
const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: deep(levels - 1) })

const unreadable: readonly (readonly [what: string, members: Json])[] = [
  ['an environment that is new', { env: 'preview' }],
  ['an environment that was not asked for', { env: 'test' }],
  ['a tenant that is a number', { tenant_id: 7 }],
  ['a tenant that is empty', { tenant_id: '' }],
  ['scopes that are not a list', { scopes: 'all' }],
  ['scopes that are not strings', { scopes: [1] }],
  ['no expiry', { expires_at: undefined }],
  ['an expiry without a zone', { expires_at: '2027-01-01T00:00:00' }],
  ['an expiry as a number', { expires_at: 1_900_000_000_000 }],
  ['an expiry in month 13', { expires_at: '2027-13-01T00:00:00Z' }],
  ['limits that are not a list', { rate_limits: { id: 'x' } }],
  ['a rule that is a text', { rate_limits: ['10/s'] }],
  ['a rule of a hundred levels', { rate_limits: [deep(100)] }],
  ['an id that is not a string', { key_id: 5 }],
  ['an invalid hash', { lookup_hash: 'short' }],
]

const unreadableCases: readonly Case[] = unreadable.flatMap(([what, members]) => [
  {
    name: `${what}, on a page: only that key is refused, and it is reported`,
    from,
    steps: [
      answers(snapshot([record(1), record(2, members), record(3)]), asksSnapshot),
      polls('snapshot', { reports: ['unreadable_key'] }),
      verifies(one, 'valid'),
      verifies(two, 'unknown_key'),
      verifies(three, 'valid'),
    ],
  },
  {
    name: `${what}, in a change: that key is refused from then on, and the rest is applied`,
    from,
    steps: [
      serves,
      answers(delta(VERSION, VERSION + 1, [upsert(1, members), upsert(3)]), asksDelta(VERSION)),
      polls('delta', { reports: ['unreadable_key'] }),
      verifies(one, 'unknown_key'),
      verifies(three, 'valid'),
    ],
  },
])

const changes: readonly (readonly [what: string, change: unknown])[] = [
  ['null', null],
  ['a text', 'upsert'],
  ['an empty object', {}],
  ['an upsert without names', { change: 'upsert', key_id: 1 }],
  ['a tombstone without names', { change: 'tombstone' }],
  ['a change of an unknown kind', { change: 'pause', key_id: id(1) }],
]

const changeCases: readonly Case[] = changes.map(([what, change]) => ({
  name: `after ${what} among the changes all keys are taken anew`,
  from,
  steps: [
    serves,
    answers(delta(VERSION, VERSION + 1, [upsert(3), change]), asksDelta(VERSION)),
    answers(snapshot([record(1), record(2)], {}, 0, VERSION + 1), asksSnapshot),
    polls('snapshot'),
    verifies(one, 'valid'),
    verifies(two, 'valid'),
    verifies(three, 'unknown_key'),
    answers(delta(VERSION + 1, VERSION + 1, []), asksDelta(VERSION + 1)),
    polls('unchanged'),
  ],
}))

const causes: readonly (readonly [cause: unknown, code: string])[] = [
  ['revoked', 'revoked_key'],
  ['expired', 'expired_key'],
  ['deleted', 'revoked_key'],
  ['disabled', 'disabled_key'],
  ['suspended', 'suspended_tenant'],
  ['constructor', 'unknown_key'],
  ['eaten', 'unknown_key'],
  [7, 'revoked_key'],
  [undefined, 'revoked_key'],
]

const causeCases: readonly Case[] = causes.map(([cause, code]) => ({
  name: `a tombstone with the cause ${JSON.stringify(cause) ?? 'of none'}: the verdict is ${code}`,
  from,
  steps: [
    serves,
    answers(delta(VERSION, VERSION + 1, [tombstone(1, { cause })])),
    polls('delta'),
    verifies(one, code),
    answers(delta(VERSION + 1, VERSION + 2, [upsert(1)]), asksDelta(VERSION + 1)),
    polls('delta'),
    verifies(one, 'valid'),
  ],
}))

const rules = [
  { id: 'a', limit: 10, window_ms: 1_000, algorithm: 'sliding', scope: 'key' },
  { id: 'b', algorithm: 'bucket', rate: { units: 5, per: 'second' }, burst: 9 },
]

const otherCases: readonly Case[] = [
  {
    name: 'the verdict has the cause of a tombstone also for a key that the node never held',
    from,
    steps: [
      serves,
      answers(delta(VERSION, VERSION + 1, [tombstone(2, { cause: 'revoked' })])),
      polls('delta'),
      verifies(two, 'revoked_key'),
    ],
  },
  {
    name: 'a tombstone without a cause says nothing about a key that the node never held',
    from: 'sync-ended.test.ts',
    steps: [
      serves,
      answers(delta(VERSION, VERSION + 1, [tombstone(2)])),
      polls('delta'),
      verifies(two, 'unknown_key'),
    ],
  },
  {
    name: 'unknown fields of records and answers are ignored',
    from,
    steps: [
      serves,
      answers(
        delta(VERSION, VERSION + 1, [upsert(2, { colour: 'red', nested: deep(20) })], 0, { weather: 'fine' }),
      ),
      polls('delta'),
      verifies(two, 'valid'),
    ],
  },
  {
    name: 'a limit with a new algorithm is passed on unchanged',
    from,
    steps: [
      answers(snapshot([record(1, { rate_limits: rules })])),
      polls('snapshot'),
      verifies(one, 'valid', { limits: rules }),
    ],
  },
  {
    name: 'a key gets other scopes, limits and another expiry by a delta',
    from: 'sync.test.ts',
    steps: [
      serves,
      answers(
        delta(VERSION, VERSION + 1, [
          upsert(1, { scopes: ['a'], rate_limits: rules.slice(0, 1), expires_at: '2027-06-01T00:00:00Z' }),
        ]),
      ),
      polls('delta'),
      verifies(one, 'valid', {
        scopes: ['a'],
        limits: rules.slice(0, 1),
        expires_at: Date.parse('2027-06-01T00:00:00Z'),
      }),
    ],
  },
  {
    name: 'the record of another key under a known id replaces it',
    from: 'store.test.ts',
    steps: [
      serves,
      answers(delta(VERSION, VERSION + 1, [{ ...upsert(2), key_id: id(1) }])),
      polls('delta'),
      verifies(two, 'valid', { key_id: id(1) }),
      verifies(one, 'unknown_key'),
      verifies(liveKey(4), 'unknown_key'),
    ],
  },
]

export const records: readonly Case[] = [...unreadableCases, ...changeCases, ...causeCases, ...otherCases]
