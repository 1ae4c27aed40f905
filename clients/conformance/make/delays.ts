import type { Case, Json, Step } from '../case.ts'
import {
  AT_ONCE,
  advances,
  answers,
  asksDelta,
  delta,
  fails,
  one,
  polls,
  record,
  serves,
  snapshot,
  VERSION,
  verifies,
} from './fixtures.ts'

/** When a node asks again. */

/** An empty delta after so long: `held` by the service, or not. */
export function unchanged(
  after: number,
  advance: number,
  prefer: string | null,
  held?: 'held' | 'held_ms',
): Step {
  const headers = held === undefined ? {} : { headers: { 'preference-applied': prefer ?? 'wait=25' } }
  const more: Json = held === 'held_ms' ? { held_ms: advance } : {}
  return {
    answer: { body: delta(VERSION, VERSION, [], after, more), advance, ...headers },
    asked: asksDelta(VERSION, { prefer }),
  }
}

export const waits = (least: number, most: number): Step => polls('unchanged', { delay: [least, most] })

export const paced = 'pace.test.ts'

const delayCases: readonly Case[] = [
  {
    name: 'answers that are not held: the first interval is cut at random, the next is nearly whole',
    from: paced,
    steps: [
      serves,
      unchanged(0, 0, 'wait=25'),
      waits(100, 5_000),
      advances(5_000),
      unchanged(5_000, 0, 'wait=22'),
      waits(4_500, 5_000),
      advances(4_000),
      unchanged(9_000, 1_000, 'wait=23'),
      waits(3_500, 4_000),
    ],
  },
  {
    name: 'a held answer: the next request follows at once',
    from: paced,
    steps: [serves, unchanged(25_000, 25_000, 'wait=25', 'held_ms'), waits(0, 0)],
  },
  {
    name: 'a delta that came at once from a service that holds: the next request follows at once',
    from: paced,
    steps: [
      serves,
      {
        answer: { body: delta(VERSION, VERSION + 1, []), headers: { 'preference-applied': 'wait=25' } },
        asked: asksDelta(VERSION, { prefer: 'wait=25' }),
      },
      polls('delta', { delay: AT_ONCE }),
    ],
  },
  {
    name: 'a service that says that it holds and does not is asked once an interval',
    from: paced,
    steps: [serves, unchanged(0, 20, 'wait=25', 'held'), waits(4_480, 4_980)],
  },
  {
    name: 'Preference-Applied without a wait, or where none was asked for, is no hold',
    from: paced,
    steps: [
      serves,
      {
        answer: {
          body: delta(VERSION, VERSION, [], 20_000),
          advance: 20_000,
          headers: { 'preference-applied': 'respond-async' },
        },
      },
      waits(0, 5_000),
      unchanged(20_000, 2_000, 'wait=15'),
      waits(2_500, 3_000),
    ],
  },
  {
    name: 'failures in a row: at random, up to twice as long each time, at most one interval',
    from: paced,
    steps: [
      serves,
      ...[500, 1_000, 2_000, 4_000, 5_000, 5_000].flatMap((most): Step[] => [
        { answer: { status: 502 } },
        fails('http_502', { delay: [100, most] }),
      ]),
      unchanged(0, 0, null),
      polls('unchanged'),
      { answer: { status: 502 } },
      fails('http_502', { delay: [100, 500] }),
    ],
  },
  {
    name: 'failures where the random number is nearly one: as long as they may be',
    from: paced,
    open: { random: 0.999 },
    steps: [
      serves,
      ...[500, 1_000, 2_000, 4_000, 5_000, 5_000].flatMap((most): Step[] => [
        { answer: { status: 502 } },
        fails('http_502', { delay: [0.99 * most, most] }),
      ]),
    ],
  },
  {
    name: 'failures where the random number is zero: as short as they may be',
    from: paced,
    open: { random: 0 },
    steps: [
      serves,
      ...[1, 2, 3].flatMap((): Step[] => [
        { answer: { status: 502 } },
        fails('http_502', { delay: [100, 100] }),
      ]),
    ],
  },
  ...[
    [0, 100, 4_500],
    [0.999, 4_995, 5_000],
  ].map(
    ([random, first = 0, next = 0]): Case => ({
      name: `answers that are not held where the random number is ${random}: after ${first} ms, then ${next} ms`,
      from: paced,
      open: { random },
      steps: [
        serves,
        unchanged(0, 0, 'wait=25'),
        waits(first - 1, first + 1),
        unchanged(0, 0, 'wait=25'),
        waits(next - 1, next),
      ],
    }),
  ),
  {
    name: 'failures of a node that starts: the same',
    from: paced,
    steps: [500, 1_000, 2_000, 4_000, 5_000, 5_000].flatMap((most): Step[] => [
      { answer: { status: 502 } },
      fails('http_502', { delay: [100, most] }),
    ]),
  },
  ...[
    ['7', 7_000, 7_000],
    ['3600', 30_000, 30_000],
    ['0', 100, 500],
    ['1e3', 100, 500],
    ['7, 8', 100, 500],
    ['soon', 100, 500],
  ].map(
    ([after, least, most]): Case => ({
      name: `a Retry-After of ${after}: ${least} to ${most} ms`,
      from: paced,
      steps: [
        serves,
        { answer: { status: 503, headers: { 'retry-after': String(after) } } },
        fails('http_503', { delay: [least, most] }),
      ],
    }),
  ),
  {
    name: 'no delay after an error is longer than half of the life that is left',
    from: paced,
    steps: [
      serves,
      ...[
        [25_000, 17_500],
        [27_000, 4_000],
        [7_000, 500],
      ].flatMap(([ms = 0, most]): Step[] => [
        advances(ms),
        { answer: { status: 503, headers: { 'retry-after': '30' } } },
        fails('http_503', { delay: [100, most] }),
      ]),
      advances(1_000),
      { answer: { status: 503, headers: { 'retry-after': '30' } } },
      verifies(one, 'stale'),
      fails('http_503', { delay: [100, 5_000] }),
    ],
  },
  {
    name: 'another interval',
    from: paced,
    open: { poll_interval: 20_000 },
    steps: [
      serves,
      unchanged(0, 0, 'wait=25'),
      waits(100, 20_000),
      unchanged(0, 0, 'wait=25'),
      waits(18_000, 20_000),
    ],
  },
  {
    name: 'snapshots of the same version in place of deltas slow the polls down',
    from: 'walks.test.ts',
    steps: [
      serves,
      ...[
        [0, 5_000],
        [9_000, 10_000],
        [18_000, 20_000],
        [27_000, 30_000],
        [27_000, 30_000],
      ].flatMap((delay): Step[] => [
        answers(snapshot([record(1)]), asksDelta(VERSION)),
        polls('snapshot', { delay }),
      ]),
      verifies(one, 'valid'),
      unchanged(0, 0, 'wait=25'),
      waits(100, 5_000),
    ],
  },
  {
    name: 'snapshots of rising versions in place of deltas are an interval apart',
    from: paced,
    steps: [
      serves,
      ...[0, 1, 2, 3].flatMap((more): Step[] => [
        answers(snapshot([record(1)], {}, 0, VERSION + more + 1), asksDelta(VERSION + more)),
        polls('snapshot', { delay: more === 0 ? [0, 5_000] : [4_500, 5_000] }),
      ]),
    ],
  },
]

export const delays: readonly Case[] = [...delayCases]
