import { id } from '../../../packages/sdk/test/keys.ts'
import type { Answer, Case, Json, Step } from '../case.ts'
import {
  advances,
  answers,
  hour,
  limitedByHour,
  liveKey,
  one,
  polls,
  project,
  record,
  snapshot,
  two,
} from './fixtures.ts'
import { allows, denies, headersOf } from './limit-answers.ts'

/** Rate limits: what a node asks, which denials it remembers, and what holds without an answer. */

const from = 'limit.test.ts'
const denials = 'denials.test.ts'

const all = { id: 'all', limit: 9, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' }
const odd = { id: 'b', algorithm: 'bucket', rate: { units: 5, per: 'second' }, burst: 9 }

/** A node that holds a key with these rules, and a second key of the same tenant. */
const limited = (rate_limits: readonly unknown[]): Step[] => [
  answers(snapshot([record(1, { rate_limits }), record(2, { rate_limits }), record(3)])),
  polls('snapshot'),
]

const path = '/v1/ratelimit/check'
const checked = (body: unknown, asked: Json = {}): Step => ({
  answer: { body },
  asked: { path, body: asked },
})
const asks = (key: string, gives: Json, more: Json = {}): Step => ({
  do: { op: 'limit', key, ...more },
  gives,
})
const allowed = { allowed: true, code: 'allowed', status: null }
const free = { allowed: true, code: 'no_limits', status: null }
const denied = { allowed: false, code: 'rate_limited', status: 429 }
const unavailable = {
  allowed: false,
  code: 'limits_unavailable',
  status: 503,
  headers: { 'retry-after': '1' },
}

const checkCases: readonly Case[] = [
  {
    name: 'a check names the key, its tenant and its limits as the feed sent them, and passes on the headers',
    from,
    steps: [
      ...limited([hour, odd]),
      checked(allows([hour, odd]), {
        project_id: project,
        env: 'live',
        key_id: id(1),
        tenant_id: id(0xa000),
        cost: 1,
        limits: [hour, odd],
      }),
      asks(one, {
        ...allowed,
        headers: {
          'ratelimit-policy': '"hour";q=5;w=60, "b";q=undefined;w=60',
          ratelimit: '"hour";r=4;t=60, "b";r=4;t=60',
          'retry-after': null,
        },
      }),
    ],
  },
  {
    name: 'a request takes its cost',
    from,
    steps: [
      limitedByHour,
      checked(allows(), { cost: 7 }),
      asks(one, allowed, { cost: 7 }),
      checked(allows(), { cost: 0 }),
      asks(one, allowed, { cost: 0 }),
      checked(allows(), { cost: 1_000 }),
      asks(one, allowed, { cost: 1_000 }),
    ],
  },
  {
    name: 'a denial is answered 429, with when to come again',
    from,
    steps: [
      limitedByHour,
      checked(denies(1_500)),
      asks(one, {
        ...denied,
        headers: {
          'retry-after': '2',
          ratelimit: '"hour";r=0;t=60',
          'ratelimit-policy': '"hour";q=5;w=60',
          'content-type': 'application/problem+json',
          'cache-control': 'no-store',
        },
      }),
    ],
  },
  {
    name: 'a key without limits passes without a call',
    from,
    steps: [limitedByHour, asks(liveKey(3), free)],
  },
  {
    name: 'a key with an empty list of limits passes without a call',
    from,
    steps: [...limited([]), asks(one, free)],
  },
]

const memory: readonly (readonly [after: number | null, until: number, left: string | null])[] = [
  [400, 400, '1'],
  [1_000, 1_000, '1'],
  [60_000, 1_000, '60'],
  [null, 1_000, null],
]
const denialCases: readonly Case[] = [
  ...memory.map(
    ([after, until, left]): Case => ({
      name: `a denial with a retry_after_ms of ${after} is remembered for ${until} ms`,
      from: denials,
      steps: [
        limitedByHour,
        checked(denies(after)),
        asks(one, { ...denied, headers: { 'retry-after': left } }),
        asks(one, denied),
        advances(until - 1),
        asks(one, { ...denied, headers: { 'ratelimit-policy': '"hour";q=5;w=60' } }),
        advances(1),
        checked(allows()),
        asks(one, allowed),
      ],
    }),
  ),
  {
    name: 'a remembered denial says how long is left',
    from: denials,
    steps: [
      limitedByHour,
      checked(denies(60_000)),
      asks(one, { ...denied, headers: { 'retry-after': '60' } }),
      advances(999),
      asks(one, { ...denied, headers: { 'retry-after': '60', ratelimit: '"hour";r=0;t=60' } }),
    ],
  },
  {
    name: 'the time of a denial counts from when it was asked for',
    from: denials,
    steps: [
      limitedByHour,
      { answer: { body: denies(60_000), advance: 600 }, asked: { path } },
      asks(one, denied),
      advances(399),
      asks(one, denied),
      advances(1),
      checked(allows()),
      asks(one, allowed),
    ],
  },
  {
    name: 'a lower cost and another key are checked after a denial, a higher cost is not',
    from: denials,
    steps: [
      limitedByHour,
      checked(denies(60_000), { cost: 5 }),
      asks(one, denied, { cost: 5 }),
      asks(one, denied, { cost: 6 }),
      checked(allows(), { cost: 4 }),
      asks(one, allowed, { cost: 4 }),
      checked(allows(), { key_id: id(2), cost: 7 }),
      asks(two, allowed, { cost: 7 }),
    ],
  },
  {
    name: 'keys of a tenant share the denial of its counter',
    from: denials,
    steps: [
      ...limited([hour, all]),
      checked(denies(60_000, ['all'], [hour, all]), { key_id: id(1) }),
      asks(one, denied),
      asks(two, {
        ...denied,
        headers: { 'ratelimit-policy': '"all";q=9;w=60', ratelimit: '"all";r=0;t=60' },
      }),
    ],
  },
  {
    name: 'after a denial by several counters only the same key is denied without a check',
    from: denials,
    steps: [
      ...limited([hour, all]),
      checked(denies(60_000, ['hour', 'all'], [hour, all])),
      asks(one, denied),
      asks(one, denied),
      checked(allows([hour, all]), { key_id: id(2) }),
      asks(two, allowed),
    ],
  },
  {
    name: 'an allowed check is not remembered',
    from,
    steps: [limitedByHour, checked(allows()), asks(one, allowed), checked(allows()), asks(one, allowed)],
  },
]

const verdict = allows()
const failures: readonly (readonly [what: string, answer: Answer])[] = [
  ['a closed connection', { wire: '', end: 'close' }],
  ['a reset connection', { wire: '', end: 'reset' }],
  ['no answer', { hang: true }],
  ['500 of a proxy', { status: 500, text: '<html>' }],
  ['503 of the service', { status: 503, body: { code: 'unavailable', status: 503 } }],
  ['429 of the service', { status: 429, body: { code: 'too_many_requests', status: 429 } }],
  ['a login page', { text: '<html>' }],
  ['null', { text: 'null' }],
  ['another object', { body: { ...verdict, object: 'list' } }],
  ['allowed as a text', { body: { ...verdict, allowed: 'yes' } }],
  ['a denial without the limits that deny', { body: { ...verdict, allowed: false, denied_by: undefined } }],
  ['no headers', { body: { ...verdict, headers: undefined } }],
  [
    'a header with a line end',
    { body: { ...verdict, headers: { ...headersOf([hour], 1), RateLimit: 'a\r\nset-cookie: b' } } },
  ],
  ['an answer of 3 MB', { repeat: { text: ' '.repeat(1024), times: 3 * 1024 } }],
  ['401 of the service', { status: 401, body: { code: 'unauthenticated', status: 401 } }],
  ['403 of the service', { status: 403, body: { code: 'forbidden', status: 403 } }],
  ['409 for a counter too many', { status: 409, body: { code: 'counter_limit_reached', status: 409 } }],
  ['a redirect', { status: 307, headers: { location: '/v1/ratelimit/check' } }],
]

const failureCases: readonly Case[] = [
  ...failures.map(
    ([what, answer]): Case => ({
      name: `a check that is answered by ${what}: the request is refused, and the next one is checked`,
      from,
      ...(answer.hang && { open: { timeout: 500 } }),
      steps: [
        limitedByHour,
        { answer, asked: { path } },
        asks(one, unavailable),
        checked(allows()),
        asks(one, allowed),
      ],
    }),
  ),
  {
    name: 'a secret key that may not check limits: requests pass, and it is asked again after ten seconds',
    from,
    steps: [
      limitedByHour,
      { answer: { status: 403, body: { code: 'insufficient_permission', status: 403 } }, asked: { path } },
      asks(one, { allowed: true, code: 'unchecked', status: null }),
      asks(two, { allowed: true, code: 'unchecked', status: null }),
      advances(9_999),
      asks(one, { allowed: true, code: 'unchecked', status: null }),
      advances(1),
      checked(denies(60_000)),
      asks(one, denied),
    ],
  },
]

export const limits: readonly Case[] = [...checkCases, ...denialCases, ...failureCases]
