import { id } from '../../../packages/sdk/test/keys.ts'
import type { Case, Json, Step } from '../case.ts'
import {
  advances,
  answers,
  delta,
  limitedByHour,
  liveKey,
  one,
  polls,
  record,
  serves,
  snapshot,
  TTL_MS,
  testKey,
  tombstone,
  VERSION,
} from './fixtures.ts'
import { allows, denies } from './limit-answers.ts'

/** What a protected route answers: where the key stands, and how each refusal looks. */

const from = 'refusal.test.ts'
const bearer = (key: string): [string, string] => ['Authorization', `Bearer ${key}`]
const asks = (headers: readonly (readonly string[])[], gives: Json, more: Json = {}): Step => ({
  do: { op: 'gate', headers, ...more },
  gives,
})
const reached = { status: 200, key_id: id(1) }
const invalid = (code: string): Json => ({
  status: 401,
  code,
  headers: {
    'www-authenticate': 'Bearer error="invalid_token"',
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'retry-after': null,
  },
})
const missing: Json = { status: 401, code: 'missing_key', headers: { 'www-authenticate': 'Bearer' } }
const lost = (code: string): Json => ({
  status: 503,
  code,
  headers: { 'retry-after': '5', 'www-authenticate': null, 'cache-control': 'no-store' },
})

const good: readonly (readonly [what: string, value: string])[] = [
  ['Bearer', `Bearer ${one}`],
  ['bearer in small letters', `bearer ${one}`],
  ['BEARER in capitals', `BEARER ${one}`],
  ['several spaces', `Bearer    ${one}`],
  ['a space behind', `Bearer ${one} `],
]
const bad: readonly (readonly [what: string, value: string])[] = [
  ['the bare key', one],
  ['no value', ''],
  ['Bearer alone', 'Bearer'],
  ['Bearer and a space', 'Bearer '],
  ['Basic', `Basic ${one}`],
  ['a tab', `Bearer\t${one}`],
  ['no space', `Bearer${one}`],
  ['two keys', `Bearer ${one} ${one}`],
  ['a list', `Bearer ${one}, Bearer ${one}`],
  ['a letter beyond ASCII', `Bearer ${one}é`],
  ['quotes', `Bearer "${one}"`],
]

const formCases: readonly Case[] = [
  ...good.map(
    ([what, value]): Case => ({
      name: `Authorization with ${what} holds a key`,
      from,
      steps: [serves, asks([['authorization', value]], reached)],
    }),
  ),
  ...bad.map(
    ([what, value]): Case => ({
      name: `Authorization with ${what} holds no key`,
      from,
      steps: [serves, asks([['Authorization', value]], invalid('malformed_key'))],
    }),
  ),
  {
    name: 'two Authorization headers are refused, also if they are the same',
    from,
    steps: [
      serves,
      asks([bearer(one), bearer(one)], invalid('malformed_key')),
      asks([bearer(one), ['AUTHORIZATION', 'Basic eDp5']], invalid('malformed_key')),
    ],
  },
  {
    name: 'no Authorization header: the challenge names no error',
    from,
    steps: [serves, asks([], missing), asks([['Accept', one]], missing)],
  },
  {
    name: 'another header holds the bare key',
    from,
    steps: [
      serves,
      asks([['X-Api-Key', one]], reached, { header: 'x-api-key' }),
      asks([['x-api-key', ` ${one} `]], reached, { header: 'x-api-key' }),
      asks([bearer(one)], missing, { header: 'x-api-key' }),
      asks([['X-Api-Key', `Bearer ${one}`]], invalid('malformed_key'), { header: 'x-api-key' }),
      asks([['X-Api-Key', '']], missing, { header: 'x-api-key' }),
      asks(
        [
          ['X-Api-Key', one],
          ['x-api-key', one],
        ],
        invalid('malformed_key'),
        { header: 'x-api-key' },
      ),
    ],
  },
]

const refusalCases: readonly Case[] = [
  {
    name: 'keys that are refused get 401',
    from,
    steps: [
      answers(snapshot([record(1, { expires_at: '2027-01-01T00:00:00Z' }), record(2)])),
      polls('snapshot'),
      answers(delta(VERSION, VERSION + 1, [tombstone(2)])),
      polls('delta'),
      asks([bearer('hello')], invalid('malformed_key')),
      asks([bearer(testKey(1))], invalid('wrong_env')),
      asks([bearer(liveKey(9))], invalid('unknown_key')),
      asks([bearer(liveKey(2))], invalid('revoked_key')),
      asks([bearer(one)], invalid('expired_key')),
    ],
  },
  {
    name: 'keys that cannot be judged get 503',
    from,
    steps: [
      asks([bearer(one)], lost('not_ready')),
      serves,
      advances(TTL_MS),
      asks([bearer(one)], lost('stale')),
    ],
  },
  {
    name: 'a missing scope gets 403, and the challenge names the scopes that a header can carry',
    from,
    steps: [
      serves,
      asks(
        [bearer(one)],
        {
          status: 403,
          code: 'insufficient_scope',
          headers: {
            'www-authenticate': 'Bearer error="insufficient_scope", scope="orders:read orders:write"',
          },
        },
        { scopes: ['orders:read', 'orders:write'] },
      ),
      asks(
        [bearer(one)],
        {
          status: 403,
          code: 'insufficient_scope',
          headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="a"' },
        },
        { scopes: ['a', 'b"c', 'ü', 'x\r\ny'] },
      ),
      asks(
        [bearer(one)],
        {
          status: 403,
          code: 'insufficient_scope',
          headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' },
        },
        { scopes: ['ü'] },
      ),
    ],
  },
  {
    name: 'a key with the scopes passes',
    from,
    steps: [
      answers(snapshot([record(1, { scopes: ['a', 'b'] })])),
      polls('snapshot'),
      asks([bearer(one)], reached, { scopes: ['b'] }),
    ],
  },
]

const checked = (body: Json, asked: Json = {}): Step => ({
  answer: { body },
  asked: { path: '/v1/ratelimit/check', body: asked },
})
const limitCases: readonly Case[] = [
  {
    name: 'a request is charged, and the answer says what is left',
    from: 'gate.ts',
    steps: [
      limitedByHour,
      checked(allows(), { cost: 3 }),
      asks(
        [bearer(one)],
        { ...reached, headers: { ratelimit: '"hour";r=4;t=60', 'ratelimit-policy': '"hour";q=5;w=60' } },
        { cost: 3 },
      ),
    ],
  },
  {
    name: 'a request beyond its limit gets 429',
    from: 'gate.ts',
    steps: [
      limitedByHour,
      checked(denies(5_000)),
      asks([bearer(one)], {
        status: 429,
        code: 'rate_limited',
        headers: {
          'retry-after': '5',
          ratelimit: '"hour";r=0;t=60',
          'content-type': 'application/problem+json',
          'cache-control': 'no-store',
          'www-authenticate': null,
        },
      }),
    ],
  },
  {
    name: 'limits that cannot be checked: 503',
    from: 'gate.ts',
    steps: [
      limitedByHour,
      { answer: { status: 503 } },
      asks([bearer(one)], { status: 503, code: 'limits_unavailable', headers: { 'retry-after': '1' } }),
    ],
  },
  {
    name: 'a refused key charges nothing',
    from: 'gate.ts',
    steps: [
      limitedByHour,
      asks([bearer(one)], { status: 403, code: 'insufficient_scope' }, { scopes: ['x'] }),
      asks([bearer(liveKey(9))], invalid('unknown_key')),
    ],
  },
]

export const gates: readonly Case[] = [...formCases, ...refusalCases, ...limitCases]
