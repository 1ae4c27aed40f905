import { policyKey, withChecksum } from '../../../packages/sdk/test/keys.ts'
import type { Case } from '../case.ts'
import {
  answers,
  asksSnapshot,
  one,
  polls,
  record,
  serves,
  snapshot,
  testKey,
  testRecord,
  verifies,
} from './fixtures.ts'
import { from, holds } from './verdicts.ts'

/** What is a key, and which scopes and environments it must have. */

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

const formCases: readonly Case[] = [
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

const scopeCases: readonly Case[] = [
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

const environmentCases: readonly Case[] = [
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

export const forms: readonly Case[] = [...formCases, ...scopeCases, ...environmentCases]
