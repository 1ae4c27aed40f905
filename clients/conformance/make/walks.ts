import type { Case, Json, Step } from '../case.ts'
import {
  AT_ONCE,
  answers,
  asksDelta,
  asksSnapshot,
  delta,
  fails,
  liveKey,
  one,
  polls,
  project,
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

/** Snapshots of several pages: how they are read, and which never end well. */

const from = 'walks.test.ts'

/** A page, and what must have asked for it: a delta, a first page, or the page of a cursor. */
export function page(
  numbers: readonly number[],
  next: string | null,
  asked: 'delta' | 'first' | { cursor: string },
  more: Json = {},
): Step {
  const body = snapshot(
    numbers.map(number => record(number)),
    { next_cursor: next, ...more },
    0,
    VERSION + 1,
  )
  if (asked === 'delta') return answers(body, asksDelta(VERSION))
  if (asked === 'first') return answers(body, asksSnapshot)
  return answers(body, {
    path: '/v1/policy/snapshot',
    query: { project_id: project, cursor: asked.cursor },
    fresh: true,
  })
}

/** After a walk that failed, the held keys are served, and the next poll begins anew. */
const goesOn: readonly Step[] = [
  verifies(one, 'valid'),
  verifies(two, 'unknown_key'),
  answers(delta(VERSION, VERSION + 1, [upsert(2)]), asksDelta(VERSION, { prefer: null })),
  polls('delta'),
  verifies(one, 'valid'),
  verifies(two, 'valid'),
]

const bad: readonly (readonly [what: string, pages: readonly Step[]])[] = [
  ['a page that repeats', [page([2, 3], 'a', 'delta'), page([2, 3], 'b', { cursor: 'a' })]],
  ['a cursor that comes twice', [page([2], 'same', 'delta'), page([3], 'same', { cursor: 'same' })]],
  [
    'a cursor that comes twice, on empty pages',
    [page([], 'same', 'delta'), page([], 'same', { cursor: 'same' })],
  ],
  ['a cursor of 513 characters', [page([2], 'c'.repeat(513), 'delta')]],
  [
    'two cursors by turns',
    [page([], 'a', 'delta'), page([], 'b', { cursor: 'a' }), page([], 'a', { cursor: 'b' })],
  ],
  ['key ids that fall from page to page', [page([9], 'a', 'delta'), page([8], 'b', { cursor: 'a' })]],
  ['key ids that fall within a page', [page([3, 2], null, 'delta')]],
  ['a key twice within a page', [page([2, 2], null, 'delta')]],
  [
    'a page of another version',
    [page([2], 'a', 'delta'), page([3], null, { cursor: 'a' }, { version: VERSION + 2 })],
  ],
  [
    'a page of another workspace',
    [
      page([2], 'a', 'delta'),
      page([3], null, { cursor: 'a' }, { workspace_id: '01930c3e-8f5a-7c31-9b0e-00000000d001' }),
    ],
  ],
  [
    'a page of another project',
    [
      page([2], 'a', 'delta'),
      page([3], null, { cursor: 'a' }, { project_id: '01930c3e-8f5a-7c31-9b0e-00000000c001' }),
    ],
  ],
  [
    'a delta in place of a page',
    [page([2], 'a', 'delta'), answers(delta(VERSION, VERSION + 1, [upsert(3)]))],
  ],
]

const endless: Case = {
  name: 'empty pages without end: the walk ends',
  from,
  steps: [
    serves,
    page([], 'c0', 'delta'),
    ...Array.from({ length: 64 }, (_, at) => page([], `c${at + 1}`, { cursor: `c${at}` })),
    fails('bad_response'),
    ...goesOn,
  ],
}

const badCases: readonly Case[] = [
  ...bad.map(
    ([what, pages]): Case => ({
      name: `${what}: the walk ends, and held keys are served`,
      from,
      steps: [serves, ...pages, fails('bad_response'), ...goesOn],
    }),
  ),
  endless,
  {
    name: 'a page that fails: the walk ends, and held keys are served',
    from: 'sync.test.ts',
    steps: [serves, page([2], 'a', 'delta'), { answer: { status: 503 } }, fails('http_503'), ...goesOn],
  },
]

const goodCases: readonly Case[] = [
  {
    name: 'a first snapshot of three pages is served when the last has come, then a delta is asked for',
    from: 'sync.test.ts',
    steps: [
      page([1], 'a', 'first'),
      page([2], 'b', { cursor: 'a' }),
      page([3], null, { cursor: 'b' }),
      polls('snapshot', { delay: AT_ONCE }),
      ...[one, two, three].map(key => verifies(key, 'valid')),
      verifies(liveKey(4), 'unknown_key'),
      answers(delta(VERSION + 1, VERSION + 2, [tombstone(1)]), asksDelta(VERSION + 1)),
      polls('delta'),
      verifies(one, 'revoked_key'),
      verifies(two, 'valid'),
    ],
  },
  {
    name: 'a cursor with signs that an address cannot have, and one of 512 characters',
    from,
    steps: [
      page([1], 'a&b=c d+e%/é', 'first'),
      page([2], 'c'.repeat(512), { cursor: 'a&b=c d+e%/é' }),
      page([3], null, { cursor: 'c'.repeat(512) }),
      polls('snapshot'),
      verifies(three, 'valid'),
    ],
  },
  {
    name: 'a snapshot in place of a delta replaces everything',
    from: 'sync.test.ts',
    steps: [
      serves,
      page([2], 'a', 'delta'),
      page([3], null, { cursor: 'a' }),
      polls('snapshot'),
      verifies(one, 'unknown_key'),
      verifies(two, 'valid'),
      verifies(three, 'valid'),
    ],
  },
  {
    name: 'a version that goes back, as after a restored backup, is applied and reported',
    from: 'caches.test.ts',
    steps: [
      serves,
      answers(snapshot([record(2)], {}, 0, 3), asksDelta(VERSION)),
      polls('snapshot', { reports: ['version_back'] }),
      verifies(two, 'valid'),
      verifies(one, 'unknown_key'),
      answers(delta(3, 4, [upsert(1)]), asksDelta(3)),
      polls('delta'),
      verifies(one, 'valid'),
    ],
  },
  {
    name: 'a service without cursors is understood',
    from: 'answers.test.ts',
    steps: [
      answers(snapshot([record(1)], { next_cursor: undefined })),
      polls('snapshot'),
      verifies(one, 'valid'),
    ],
  },
  {
    name: 'a walk with a second page of another workspace, to a node that starts',
    from: 'answers.test.ts',
    steps: [
      page([1], 'a', 'first'),
      page([2], null, { cursor: 'a' }, { workspace_id: '01930c3e-8f5a-7c31-9b0e-00000000d001' }),
      fails('bad_response'),
      verifies(one, 'not_ready'),
    ],
  },
  {
    name: 'a walk with a bad second page, to a node that starts',
    from,
    steps: [
      page([1], 'a', 'first'),
      page([1], null, { cursor: 'a' }),
      fails('bad_response'),
      verifies(one, 'not_ready'),
      page([1], null, 'first'),
      polls('snapshot'),
      verifies(one, 'valid'),
    ],
  },
]

export const walks: readonly Case[] = [...badCases, ...goodCases]
