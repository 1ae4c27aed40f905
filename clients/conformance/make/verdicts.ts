import { id, policyKey, withChecksum } from '../../../packages/sdk/test/keys.ts'
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
  testRecord,
  two,
  VERSION,
  verifies,
} from './fixtures.ts'

/** Which verdict a key gets, and in which order refusals come. */

const random = '0'.repeat(32)

/** What is no key, whatever the node holds. */
const malformed: readonly (readonly [what: string, key: string])[] = [
  ['a word', 'hello'],
  ['a space', ' '],
  ['a key with a space before it', ` ${one}`],
  ['a key with a space behind it', `${one} `],
  ['a key with a line end', `${one}\n`],
  ['a key in capitals', one.toUpperCase()],
  ['a key without its last character', one.slice(0, -1)],
  ['a key with another last character', `${one.slice(0, -1)}${one.endsWith('a') ? 'b' : 'a'}`],
  ['a key with two characters swapped', one.replace(/01(.{6})$/, '10$1')],
  ['a key with one more character', `${one}0`],
  ['a live key whose environment was edited', one.replace('_live_', '_test_')],
  ['a key whose random part has a letter beyond ASCII', one.replace('live_0', 'live_é')],
  ['a key with half a surrogate pair', one.replace('live_0', 'live_\ud800')],
  ['a key with a zero character', one.replace('live_0', 'live_\0')],
  ['a prefix of one letter, with the right checksum', withChecksum(`k_live_${random}`)],
  ['a prefix with a capital, with the right checksum', withChecksum(`Kr_live_${random}`)],
  ['a prefix that begins with a digit, with the right checksum', withChecksum(`1r_live_${random}`)],
  ['a prefix with a hyphen, with the right checksum', withChecksum(`k-r_live_${random}`)],
  ['a prefix of 17 characters, with the right checksum', withChecksum(`${'a'.repeat(17)}_live_${random}`)],
  ['no prefix, with the right checksum', withChecksum(`_live_${random}`)],
  ['another environment, with the right checksum', withChecksum(`kr_prod_${random}`)],
  ['no environment, with the right checksum', withChecksum(`krlive_${random}`)],
  ['two underscores, with the right checksum', withChecksum(`kr__live_${random}`)],
  ['33 random characters, with the right checksum', withChecksum(`kr_live_${random}0`)],
  ['31 random characters, with the right checksum', withChecksum(`kr_live_${random.slice(1)}`)],
  ['an underscore among the random characters', withChecksum(`kr_live_${random.slice(1)}_`)],
  ['a thousand characters', 'k'.repeat(1_000)],
]

const from = 'verify.test.ts'
const formCases = (): Case[] => [
  ...malformed.map(
    ([what, key]): Case => ({
      name: `malformed: ${what}`,
      from: 'token.test.ts',
      steps: [serves, verifies(key, 'malformed_key')],
    }),
  ),
  {
    name: 'no key, before and after the node serves',
    from,
    steps: [
      verifies(null, 'missing_key'),
      verifies('', 'missing_key'),
      serves,
      verifies(null, 'missing_key'),
      verifies('', 'missing_key'),
    ],
  },
  ...['ab', 'a1b2c3d4e5f6g7h8', 'k0'].map((prefix): Case => {
    const key = withChecksum(`${prefix}_live_${random}`)
    return {
      name: `a key with the prefix ${prefix}`,
      from: 'token.test.ts',
      steps: [
        answers(snapshot([policyKey(key, 1)])),
        polls('snapshot'),
        verifies(key, 'valid'),
        verifies(one, 'unknown_key'),
      ],
    }
  }),
]

const restricted = record(1, { scopes: ['orders:read', 'orders:write'] })
const holds = (...keys: unknown[]): Step[] => [answers(snapshot(keys), asksSnapshot), polls('snapshot')]

const scopeCases = (): Case[] => [
  {
    name: 'a key has the scopes that are required, compared exactly',
    from,
    steps: [
      ...holds(restricted),
      verifies(one, 'valid', { scopes: ['orders:read', 'orders:write'] }),
      verifies(one, 'valid', {}, { scopes: [] }),
      verifies(one, 'valid', {}, { scopes: ['orders:write'] }),
      verifies(one, 'valid', {}, { scopes: ['orders:write', 'orders:read'] }),
      verifies(one, 'insufficient_scope', {}, { scopes: ['orders'] }),
      verifies(one, 'insufficient_scope', {}, { scopes: ['orders:READ'] }),
      verifies(one, 'insufficient_scope', {}, { scopes: ['orders:read', 'orders:delete'] }),
      verifies(one, 'insufficient_scope', {}, { scopes: [''] }),
    ],
  },
  {
    name: 'a key without scopes lacks each scope',
    from,
    steps: [serves, verifies(one, 'insufficient_scope', {}, { scopes: ['orders:read'] })],
  },
]

const environmentCases = (): Case[] => [
  {
    name: 'a live node refuses test keys, known or not',
    from,
    steps: [verifies(testKey(1), 'wrong_env'), serves, verifies(testKey(1), 'wrong_env')],
  },
  {
    name: 'a node of both environments takes both, and the call may take one',
    from,
    open: { env: 'both' },
    steps: [
      answers(snapshot([record(1), testRecord(2)], { env: null }), {
        ...asksSnapshot,
        query: { ...asksSnapshot.query, env: null },
      }),
      polls('snapshot'),
      verifies(one, 'valid', { env: 'live' }),
      verifies(testKey(2), 'valid', { env: 'test' }),
      verifies(testKey(2), 'valid', {}, { env: 'test' }),
      verifies(testKey(2), 'valid', {}, { env: 'both' }),
      verifies(testKey(2), 'wrong_env', {}, { env: 'live' }),
      verifies(one, 'wrong_env', {}, { env: 'test' }),
    ],
  },
  {
    name: 'a test node takes test keys',
    from,
    open: { env: 'test' },
    steps: [
      answers(snapshot([testRecord(1)], { env: 'test' }), {
        ...asksSnapshot,
        query: { ...asksSnapshot.query, env: 'test' },
      }),
      polls('snapshot'),
      verifies(testKey(1), 'valid'),
      verifies(one, 'wrong_env'),
    ],
  },
  {
    name: 'a record whose environment contradicts its key is not served',
    from,
    open: { env: 'both' },
    steps: [
      answers(snapshot([testRecord(1, { env: 'live' })], { env: null })),
      polls('snapshot'),
      verifies(testKey(1), 'unknown_key'),
    ],
  },
]

const expiryCases = (): Case[] => [
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

const staleCases = (): Case[] => [
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
      verifies('kr_test_x', 'malformed_key'),
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

const contentCases = (): Case[] => [
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

export const verdicts = (): Case[] => [
  ...formCases(),
  ...scopeCases(),
  ...environmentCases(),
  ...expiryCases(),
  ...staleCases(),
  ...contentCases(),
]
