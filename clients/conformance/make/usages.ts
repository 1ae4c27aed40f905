import { id } from '../../../packages/sdk/test/keys.ts'
import type { Answer, Asked, Case, Json, Step } from '../case.ts'
import { BEGINS_AT } from '../run.ts'
import { advances, answers, at, one, polls, record, snapshot, two } from './fixtures.ts'

/** Usage reports: what they say, and what becomes of counts whose report fails. */

const from = 'reporter.e2e.test.ts'
const path = '/v1/usage/reports'
const HOUR_MS = 3_600_000

const holds: readonly Step[] = [answers(snapshot([record(1), record(2)])), polls('snapshot')]
const counts = (key: string, requests?: number): Step => ({
  do: { op: 'count', key, ...(requests !== undefined && { requests }) },
})
const row = (number: number, count: number, after = 0): Json => ({
  key_id: id(number),
  hour: at(after),
  count,
})
const taken: Answer = { status: 202, body: { object: 'usage_report', accepted: 1, ignored: 0 } }
const reported = (rows: readonly Json[], more: Asked = {}, answer: Answer = taken): Step => ({
  answer,
  asked: { path, body: { records: rows }, ...more },
})
const reports = (code: unknown, pending: number): Step => ({ do: { op: 'report' }, gives: { code, pending } })
const anew: Asked = { anew: ['report_id'] }
const again: Asked = { again: ['report_id', 'records', 'sample_rate'] }

const failures: readonly (readonly [what: string, code: unknown, answer: Answer])[] = [
  ['a closed connection', 'network_error', { wire: '', end: 'close' }],
  ['no answer', 'timeout', { hang: true }],
  ['503 of the service', 'unavailable', { status: 503, body: { code: 'unavailable', status: 503 } }],
  ['401 of the service', 'unauthenticated', { status: 401, body: { code: 'unauthenticated', status: 401 } }],
  ['403 of the service', 'forbidden', { status: 403, body: { code: 'forbidden', status: 403 } }],
  [
    '429 of the service',
    'too_many_requests',
    { status: 429, body: { code: 'too_many_requests', status: 429 } },
  ],
  ['502 of a proxy', 'http_502', { status: 502, text: '<html>' }],
  ['200 in place of 202', 'http_200', { status: 200, text: '{}' }],
  ['a redirect', 'network_error', { status: 307, headers: { location: path } }],
]

const failureCases: readonly Case[] = failures.map(([what, code, answer]) => ({
  name: `a report that is answered by ${what}: it is sent again, unchanged, before what was counted since`,
  from,
  ...(answer.hang && { open: { timeout: 500 } }),
  steps: [
    ...holds,
    counts(one, 3),
    reported([row(1, 3)], anew, answer),
    reports(code, 3),
    counts(one, 4),
    reported([row(1, 3)], again),
    reported([row(1, 4)], anew),
    reports(null, 0),
  ],
}))

const dropCases: readonly Case[] = [400, 413].map(status => ({
  name: `a report that is answered ${status} is dropped, and does not block the next`,
  from,
  steps: [
    ...holds,
    counts(one, 3),
    reported([row(1, 3)], anew, { status, body: { code: 'validation_failed', status } }),
    reports('validation_failed', 0),
    counts(one, 4),
    reported([row(1, 4)], anew),
    reports(null, 0),
  ],
}))

export const usages: readonly Case[] = [
  {
    name: 'nothing was counted: nothing is sent',
    from,
    steps: [...holds, reports(null, 0)],
  },
  {
    name: 'counts are merged by key and hour, and sent once',
    from,
    steps: [
      ...holds,
      counts(one),
      counts(one),
      counts(two, 7),
      reported([row(1, 2), row(2, 7)], {
        ...anew,
        body: { sample_rate: 1, records: { unordered: [row(1, 2), row(2, 7)] } },
      }),
      reports(null, 0),
      reports(null, 0),
    ],
  },
  {
    name: 'counts of two hours are two records, the older one first',
    from,
    open: { wall: BEGINS_AT + HOUR_MS - 1 },
    steps: [
      answers(snapshot([record(1)], {}, HOUR_MS - 1)),
      polls('snapshot'),
      counts(one, 2),
      advances(1),
      counts(one, 3),
      reported([row(1, 2), row(1, 3, HOUR_MS)], anew),
      reports(null, 0),
    ],
  },
  {
    name: 'a count of more than a billion takes several records',
    from,
    steps: [
      ...holds,
      counts(one, 1_500_000_000),
      reported([row(1, 1_000_000_000)], anew),
      reported([row(1, 500_000_000)], anew),
      reports(null, 0),
    ],
  },
  ...failureCases,
  ...dropCases,
  {
    name: 'a report that fails twice is the same three times',
    from,
    steps: [
      ...holds,
      counts(one, 3),
      reported([row(1, 3)], anew, { status: 503 }),
      reports('http_503', 3),
      reported([row(1, 3)], again, { wire: '', end: 'reset' }),
      reports('network_error', 3),
      reported([row(1, 3)], again),
      reports(null, 0),
    ],
  },
  {
    name: 'records that the service ignores are reported to the vendor, and not sent again',
    from,
    steps: [
      ...holds,
      counts(one, 3),
      reported([row(1, 3)], anew, { status: 202, body: { object: 'usage_report', accepted: 0, ignored: 1 } }),
      reports('usage_ignored', 0),
      counts(one, 2),
      reported([row(1, 2)], anew),
      reports(null, 0),
    ],
  },
  {
    name: 'a secret key that may not report usage: the counts are kept',
    from,
    steps: [
      ...holds,
      counts(one, 3),
      reported([row(1, 3)], anew, { status: 403, body: { code: 'insufficient_permission', status: 403 } }),
      reports('insufficient_permission', 3),
      reported([row(1, 3)], again),
      reports(null, 0),
    ],
  },
]
