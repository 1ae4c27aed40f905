import type { Case, Step } from '../case.ts'
import { paced, unchanged, waits } from './delays.ts'
import { advances, asksDelta, delta, one, polls, serves, TTL_MS, VERSION, verifies } from './fixtures.ts'

/** For how long a node lets the service hold its answers. */

const held = 'hold.test.ts'

const failsAfter = (advance: number, prefer: string | null): Step[] => [
  { answer: { advance, wire: '', end: 'close' }, asked: asksDelta(VERSION, { prefer }) },
  { do: { op: 'poll' }, gives: { outcome: 'error', code: 'network_error' } },
]

const holdCases: readonly Case[] = [
  ...[
    [60_000, 'wait=25'],
    [35_000, 'wait=12'],
    [20_000, 'wait=5'],
    [12_000, 'wait=1'],
    [11_999, null],
    [10_000, null],
  ].map(
    ([ttl, prefer]): Case => ({
      name: `keys that live for ${ttl} ms: an answer may be held for ${prefer ?? 'no time'}`,
      from: held,
      open: { cached_ttl: ttl },
      steps: [serves, unchanged(0, 0, prefer as string | null), polls('unchanged')],
    }),
  ),
  {
    name: 'stale keys: no answer is held',
    from: held,
    steps: [serves, advances(TTL_MS), unchanged(TTL_MS, 0, null), polls('unchanged'), verifies(one, 'valid')],
  },
  {
    name: 'a held answer without held_ms confirms from its request, so the next hold is shorter',
    from: held,
    steps: [
      serves,
      unchanged(25_000, 25_000, 'wait=25', 'held'),
      polls('unchanged'),
      unchanged(25_000, 0, 'wait=12'),
      polls('unchanged'),
    ],
  },
  {
    name: 'a held answer with held_ms confirms from its end, so the next hold is as long',
    from: held,
    steps: [
      serves,
      unchanged(25_000, 25_000, 'wait=25', 'held_ms'),
      polls('unchanged'),
      unchanged(25_000, 0, 'wait=25'),
      polls('unchanged'),
    ],
  },
  {
    name: 'a hold that fails: immediate answers until one comes, then half of the hold',
    from: held,
    steps: [
      serves,
      ...failsAfter(20_000, 'wait=25'),
      ...failsAfter(50, null),
      ...failsAfter(50, null),
      unchanged(20_100, 0, null),
      polls('unchanged'),
      unchanged(20_100, 0, 'wait=10'),
      polls('unchanged'),
    ],
  },
  {
    name: 'one failure at once does not cut the hold, two in a row end it',
    from: held,
    steps: [
      serves,
      ...failsAfter(5, 'wait=25'),
      unchanged(5, 0, null),
      polls('unchanged'),
      ...failsAfter(5, 'wait=25'),
      unchanged(10, 0, null),
      polls('unchanged'),
      unchanged(10, 0, null),
      polls('unchanged'),
    ],
  },
  {
    name: 'a cut hold grows after a minute',
    from: held,
    steps: [
      serves,
      ...failsAfter(20_000, 'wait=25'),
      unchanged(20_000, 0, null),
      polls('unchanged'),
      ...[1, 2, 3, 4, 5, 6].flatMap(times => [
        unchanged(20_000 + times * 10_000, 10_000, 'wait=10', 'held_ms'),
        waits(0, 0),
      ]),
      unchanged(100_000, 20_000, 'wait=20', 'held_ms'),
      waits(0, 0),
    ],
  },
  {
    name: 'a bad answer to a held request is no failure of the hold, and the next answer is immediate',
    from: held,
    steps: [
      serves,
      {
        answer: { advance: 20_000, body: delta(VERSION - 1, VERSION, [], 20_000) },
        asked: asksDelta(VERSION, { prefer: 'wait=25' }),
      },
      { do: { op: 'poll' }, gives: { outcome: 'error', code: 'bad_response' } },
      unchanged(20_000, 0, null),
      polls('unchanged'),
      unchanged(20_000, 0, 'wait=25'),
      polls('unchanged'),
    ],
  },
  {
    name: 'holds that were cut to less than the interval add no polls',
    from: paced,
    steps: [
      serves,
      ...failsAfter(4_000, 'wait=25'),
      unchanged(4_000, 0, null),
      polls('unchanged'),
      unchanged(6_000, 2_000, 'wait=2', 'held_ms'),
      waits(2_500, 3_000),
    ],
  },
]

export const holds: readonly Case[] = [...holdCases]
