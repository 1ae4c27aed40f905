import type { FeedService } from '../feed-service.ts'
import { id, policyKey } from '../keys.ts'
import { answerWith, isDelta, type Mode, modesOf } from './mode.ts'

/** Wrong bodies with the status 200. */

const body = (text: string | Buffer) => () => ({ body: text })
/** The right body except for these fields. */
const but =
  (more: object): Mode['answer'] =>
  (asked, service) =>
    answerWith(asked, service, more)
/** The right body except for the spelling of its version. */
const versioned =
  (text: string): Mode['answer'] =>
  (asked, service) => ({
    body: JSON.stringify(answerWith(asked, service, { version: 'here' }).body).replace('"here"', text),
  })
const dated =
  (date: (service: FeedService) => string): Mode['answer'] =>
  (asked, service) => ({ ...answerWith(asked, service, {}), headers: { date: date(service) } })
const inDelta =
  (more: object | ((since: number) => object)): Mode['answer'] =>
  (asked, service) => {
    const since = Number(asked.url.searchParams.get('since'))
    return isDelta(asked)
      ? answerWith(asked, service, typeof more === 'function' ? more(since) : more)
      : undefined
  }
const inSnapshot =
  (more: object): Mode['answer'] =>
  (asked, service) =>
    isDelta(asked) ? undefined : answerWith(asked, service, more)
const serving = { only: 'serving' } as const
const start = { only: 'start' } as const
const bad = 'bad_response'
const unknown = { key_id: id(77), env: 'live', lookup_hash: `${'A'.repeat(43)}=` }

export const bodyModes: Mode[] = modesOf([
  ['a login page', body('<!doctype html><title>Sign in</title>'), bad],
  ['nothing', body(''), bad],
  [
    'half of the body',
    (asked, service) => ({ body: JSON.stringify(answerWith(asked, service, {}).body).slice(0, -2) }),
    bad,
  ],
  [
    'the body twice',
    (asked, service) => ({ body: JSON.stringify(answerWith(asked, service, {}).body).repeat(2) }),
    bad,
  ],
  ['null', body('null'), bad],
  ['a list', body('[]'), bad],
  ['a number', body('1e999'), bad],
  ['a text', body('"policy_delta"'), bad],
  ['a million brackets', body('['.repeat(1_000_000)), bad],
  ['bytes that are not UTF-8', body(Buffer.from([0x7b, 0xff, 0xfe, 0xc0, 0x7d])), bad],
  [
    'UTF-16',
    (asked, service) => ({
      body: Buffer.from(JSON.stringify(answerWith(asked, service, {}).body), 'utf16le'),
    }),
    bad,
  ],
  ['another object', but({ object: 'api_key' }), bad],
  ['a list in place of the object', but({ object: ['policy_snapshot', 'policy_delta'] }), bad],
  [
    'changes in place of keys',
    (_, service) => ({ body: { ...deltaBody(service), since: 0, changes: [] } }),
    bad,
    start,
  ],
  ['another project', but({ project_id: id(0xc001) }), bad],
  ['another workspace', but({ workspace_id: id(0xd001) }), bad, serving],
  ['no workspace', but({ workspace_id: undefined }), bad],
  ['the other environment', but({ env: 'test' }), bad],
  ['both environments', but({ env: null }), bad],
  ['a new environment', but({ env: 'preview' }), bad],
  ['a negative version', but({ version: -1 }), bad],
  ['a version as a text', but({ version: '7' }), bad],
  ['a fractional version', but({ version: 1.5 }), bad],
  ['a version beyond a safe integer', versioned('9007199254740993'), bad],
  ['an infinite version', versioned('1e999'), bad],
  ['no version', but({ version: undefined }), bad],
  ['the highest version', but({ version: Number.MAX_SAFE_INTEGER }), undefined],
  ['project_deleted as a text', but({ project_deleted: 'no' }), bad],
  ['a time that is a word', but({ generated_at: 'yesterday' }), bad],
  ['a time that is a number', but({ generated_at: Date.now() }), bad],
  ['a time without a zone', but({ generated_at: '2027-01-01T00:00:00' }), bad],
  ['a time in month 13', but({ generated_at: '2027-13-01T00:00:00Z' }), bad],
  ['no time', but({ generated_at: undefined }), bad],
  ['a time of long ago', but({ generated_at: '0001-01-01T00:00:00Z' }), undefined, start],
  [
    'a time of long ago after later ones',
    but({ generated_at: '0001-01-01T00:00:00Z' }),
    'date_back',
    { isTaken: true, ...serving },
  ],
  ['a time far ahead', but({ generated_at: '9999-12-31T23:59:59Z' }), 'cached_answer', { isTaken: true }],
  ['a Date of long ago', dated(() => new Date(0).toUTCString())],
  ['an invalid Date', dated(() => 'never')],
  [
    'a Date that jumps',
    dated(({ asked }) => new Date(Date.now() + (asked.length % 2) * 3_600_000).toUTCString()),
  ],
  ['an Age', (asked, service) => ({ ...answerWith(asked, service, {}), headers: { age: '7' } })],
  [
    'an Age without end',
    (asked, service) => ({ ...answerWith(asked, service, {}), headers: { age: '9'.repeat(400) } }),
  ],
  [
    'an Age that is a word',
    (asked, service) => ({ ...answerWith(asked, service, {}), headers: { age: 'old' } }),
  ],
  ['keys that are not a list', inSnapshot({ keys: { 0: 1, length: 1 } }), bad, start],
  [
    'invalid keys',
    (asked, service) => answerWith(asked, service, { keys: [...service.keys.values(), null, 7, 'x', []] }),
    'unreadable_key',
    { isTaken: true, ...start },
  ],
  ['a cursor that is empty', inSnapshot({ next_cursor: '' }), bad, start],
  ['a cursor that is a number', inSnapshot({ next_cursor: 7 }), bad, start],
  ['a cursor that leads in a circle', inSnapshot({ next_cursor: 'again' }), bad, start],
  [
    'keys out of order',
    inSnapshot({ keys: [policyKey('kr_live_b', 9), policyKey('kr_live_a', 8)] }),
    bad,
    start,
  ],
  ['a key twice', inSnapshot({ keys: [policyKey('kr_live_b', 9), policyKey('kr_live_b', 9)] }), bad, start],
  ['changes that are not a list', inDelta({ changes: 'none' }), bad, serving],
  [
    'changes since another version',
    inDelta(since => ({ since: since + 1, version: since + 1 })),
    bad,
    serving,
  ],
  ['changes since before', inDelta(since => ({ since: since - 1 })), bad, serving],
  ['changes since a text', inDelta(since => ({ since: String(since) })), bad, serving],
  ['changes that go back', inDelta(since => ({ version: since - 1 })), bad, serving],
  ['a tombstone of nothing', inDelta({ changes: [{ change: 'tombstone', ...unknown }] }), undefined, serving],
  [
    'a tombstone of an odd cause',
    inDelta({ changes: [{ change: 'tombstone', cause: '__proto__', ...unknown }] }),
    undefined,
    serving,
  ],
  [
    'the same version with changes, again and again',
    inDelta({ changes: [{ change: 'upsert', ...policyKey('kr_live_c', 78) }] }),
    undefined,
    serving,
  ],
  ['a version that rises without a change', inDelta(since => ({ version: since + 1 })), undefined, serving],
  [
    'fields such as __proto__',
    (asked, service) => ({
      body: JSON.stringify(answerWith(asked, service, {}).body).replace(
        '{',
        '{"__proto__":{"valid":true,"features":["names"]},"constructor":{"prototype":{"valid":true}},',
      ),
    }),
  ],
  ['unknown fields', but({ features: 'all', tenants: 7, algorithm: { name: 'x' }, weather: null })],
  [
    'the right body behind a byte order mark',
    (asked, service) => ({ body: `\ufeff${JSON.stringify(answerWith(asked, service, {}).body)}` }),
    bad,
  ],
])

function deltaBody(service: Parameters<Mode['answer']>[1]): object {
  const { body: whole } = answerWith(
    { url: new URL(`${service.url}/v1/policy/delta?since=1`), headers: {} },
    service,
    {},
  )
  return whole
}
