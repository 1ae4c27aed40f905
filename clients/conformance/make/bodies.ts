import { bodyModes } from '../../../packages/sdk/test/hostile/body-modes.ts'
import type { Mode } from '../../../packages/sdk/test/hostile/mode.ts'
import { id } from '../../../packages/sdk/test/keys.ts'
import type { Answer, Case, Json } from '../case.ts'
import { BEGINS_AT } from '../run.ts'
import {
  advances,
  answers,
  asksDelta,
  at,
  delta,
  fails,
  one,
  polls,
  record,
  recoversLate,
  serves,
  snapshot,
  TTL_MS,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'
import { answerOf, casesOf } from './modes.ts'

/** What these answer is not the same in every run, or would be large. */
const own: Readonly<Record<string, (answer: Answer) => Answer>> = {
  'a million brackets': () => ({ repeat: { text: '[', times: 1_000_000 } }),
  'a time that is a number': ({ body }) => ({ body: { ...(body as Json), generated_at: BEGINS_AT } }),
  'a Date that jumps': answer => ({
    ...answer,
    headers: { date: new Date(BEGINS_AT + 3_600_000).toUTCString() },
  }),
}

const answered = (mode: Mode, isServing: boolean): Answer => {
  const answer = answerOf(mode, isServing)
  return own[mode.name]?.(answer) ?? answer
}

const from = 'body modes'
const takenCases: readonly Case[] = [
  {
    name: 'a time of long ago after later ones: applied, and no key lives longer for it',
    from,
    steps: [
      serves,
      advances(30_000),
      answers(delta(VERSION, VERSION + 1, [upsert(2)], 0, { generated_at: '0001-01-01T00:00:00Z' })),
      polls('delta', { reports: ['date_back'] }),
      verifies(two, 'valid'),
      advances(29_999),
      verifies(two, 'valid'),
      advances(1),
      verifies(two, 'stale'),
      answers(delta(VERSION + 1, VERSION + 1, [], TTL_MS), asksDelta(VERSION + 1, { prefer: null })),
      polls('unchanged'),
      verifies(two, 'valid'),
    ],
  },
  {
    name: 'a time far ahead: later answers count as old, until three of them agree for five seconds',
    from: 'service-time.test.ts',
    steps: [
      answers(snapshot([record(1)], { generated_at: '2027-01-02T00:00:00Z' })),
      polls('snapshot'),
      advances(1_000),
      answers(delta(VERSION, VERSION, [], 1_000)),
      polls('unchanged', { reports: ['date_back'] }),
      advances(3_000),
      answers(delta(VERSION, VERSION, [], 4_000), asksDelta(VERSION, { prefer: null })),
      polls('unchanged'),
      advances(3_000),
      answers(delta(VERSION, VERSION, [], 7_000), asksDelta(VERSION, { prefer: null })),
      polls('unchanged'),
      advances(TTL_MS - 1),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
    ],
  },
  {
    name: 'a time far ahead, and later answers that agree too briefly: the keys go stale',
    from: 'service-time.test.ts',
    steps: [
      answers(snapshot([record(1)], { generated_at: '2027-01-02T00:00:00Z' })),
      polls('snapshot'),
      advances(1_000),
      answers(delta(VERSION, VERSION, [], 1_000)),
      polls('unchanged', { reports: ['date_back'] }),
      advances(4_000),
      answers(delta(VERSION, VERSION, [], 5_000)),
      polls('unchanged'),
      advances(TTL_MS - 5_001),
      verifies(one, 'valid'),
      advances(1),
      verifies(one, 'stale'),
    ],
  },
  {
    name: 'invalid keys among valid ones: only these are refused',
    from,
    steps: [
      answers(snapshot([record(1), null, 7, 'x', []])),
      polls('snapshot', { reports: ['unreadable_key'] }),
      verifies(one, 'valid', { key_id: id(1) }),
      verifies(two, 'unknown_key'),
    ],
  },
  {
    name: 'after a bad answer a request for a page follows none before',
    from,
    steps: [
      serves,
      { answer: { text: '<!doctype html><title>Sign in</title>' }, asked: asksDelta(VERSION) },
      fails('bad_response'),
      { answer: { body: null }, asked: asksDelta(VERSION, { prefer: null }) },
      fails('bad_response', { delay: [100, 1_000] }),
      { answer: { body: { generated_at: at(0) } }, asked: asksDelta(VERSION, { prefer: null }) },
      fails('bad_response', { delay: [100, 2_000] }),
      recoversLate,
    ],
  },
]

export const bodies: readonly Case[] = [
  // What is taken and reported has cases of its own, and so has a walk.
  ...casesOf(
    bodyModes.filter(({ isTaken, name }) => !isTaken && name !== 'a cursor that leads in a circle'),
    'body modes',
    {},
    answered,
  ),
  ...takenCases,
]
