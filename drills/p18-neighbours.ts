import type { Drill } from './harness/drill.ts'
import { type Attacked, runNeighbours } from './harness/neighbour-run.ts'
import { judge, mib, ms } from './harness/neighbour-verdict.ts'

const cyclesDefault = 2
/** Long enough that the 99th percentile is not one unlucky request: some 800 checks, and 80 sign-ins. */
const turnMs = 8_000

export const drill: Drill = {
  name: 'p18',
  title: 'Neighbours notice little of each other',
  promise:
    'Whatever one workspace or one stranger does at full speed, another workspace’s checks, claims, polls, creations and sign-ins are all answered, at most three times slower than beside nobody, and the process grows by at most 256 MiB.',
  async run({ cycles = cyclesDefault, signal, say }) {
    const { attacked, serverVersion } = await runNeighbours({
      cycles,
      turnMs,
      rows: 50_000,
      keys: 1_000,
      signal,
      say,
    })
    const judged = attacked.map(turns => ({ turns, verdict: judge(turns) }))
    const doubts = judged.flatMap(({ turns, verdict }) =>
      verdict.doubt === null ? [] : [`too noisy to judge times: ${turns.attack}: ${verdict.doubt}`],
    )
    return {
      heading: [
        'meanwhile',
        'asked',
        'p50 quiet',
        'beside it',
        'p99 quiet',
        'beside it',
        'times',
        'MiB more',
      ],
      align: ['left', 'left', 'right', 'right', 'right', 'right', 'right', 'right'],
      rows: judged.flatMap(({ turns, verdict }) =>
        verdict.lines.map(({ name, quiet, loud, slower }, i) => [
          i === 0 ? turns.attack : '',
          name,
          ms(quiet.p50),
          ms(loud.p50),
          ms(quiet.p99),
          ms(loud.p99),
          `${slower.toFixed(1)}${verdict.doubt === null ? '' : '?'}`,
          i === 0 ? String(mib(turns.grownBytes)) : '',
        ]),
      ),
      notes: [
        ...attacked.map(toldOf),
        `${cycles} turns of ${turnMs / 1000} s with each, each after one without; over sockets, Postgres ${serverVersion}`,
        'service, Postgres, neighbour and attacker on one machine; times is the worse of p50 and p99',
        ...doubts,
      ],
      broken: judged.flatMap(({ verdict }) => verdict.broken),
    }
  },
}

const toldOf = ({ attack, tally }: Attacked) =>
  `${attack}: the attacker heard ${Object.entries(tally)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([status, times]) => `${status} ${times} times`)
    .join(', ')}`
