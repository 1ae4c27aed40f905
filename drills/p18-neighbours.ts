import { median } from '../bench/harness/statistics.ts'
import type { Drill } from './harness/drill.ts'
import { type Attacked, runNeighbours } from './harness/neighbour-run.ts'
import { judge, mib, ms, othersMax, times } from './harness/neighbour-verdict.ts'
import { floods } from './harness/right-cases.ts'
import { faultsOf, notesOf, runRights } from './harness/right-run.ts'

/**
 * A round is half of a quiet turn, a turn with the attack, and the other half. Each round gives one ratio of each
 * percentile, and the median over the rounds is judged by its 95 % interval. Fewer than six rounds have no such interval:
 * then only refusals and memory are judged.
 *
 * Until then, the medians of all quiet turns and of all others were compared: a machine that slowed down in between
 * decided, and quiet turns that differed by half left the attack without a verdict.
 */
const cyclesDefault = 10
/** Long enough for some 200 checks and 20 sign-ins. */
const turnMs = 6_000

export const drill: Drill = {
  name: 'p18',
  title: 'Neighbours hardly affect each other',
  promise:
    'Whatever one workspace or one stranger does at full speed, another workspace’s checks, claims, polls, creations and sign-ins are all answered, at most three times slower than in a quiet turn, and the process grows by at most 256 MiB. Whatever a key, a member or the browsers of customers do in one workspace, its owner is answered within a second.',
  async run({ cycles = cyclesDefault, signal, say }) {
    const { attacked, serverVersion } = await runNeighbours({
      cycles,
      turnMs,
      rows: 50_000,
      keys: 1_000,
      signal,
      say,
    })
    const beside = await runRights({ cases: floods, cycles, floodMs: turnMs / 2, signal, say })
    const judged = attacked.map(turns => ({ turns, verdict: judge(turns) }))
    const disturbed = judged.reduce((sum, { verdict }) => sum + verdict.disturbed, 0)
    return {
      heading: [
        'meanwhile',
        'asked',
        'p50 quiet',
        'beside it',
        'times',
        '95 %',
        'p99 quiet',
        'beside it',
        'times',
        '95 %',
        'MiB more',
      ],
      align: ['left', 'left', ...Array(9).fill('right')],
      rows: judged.flatMap(({ turns, verdict }) =>
        verdict.lines.map(({ name, p50, p99 }, i) => [
          i === 0 ? turns.attack : '',
          name,
          ...[p50, p99].flatMap(({ quiet, loud, slower, interval }) => [
            ms(quiet),
            ms(loud),
            times(slower),
            `${times(interval.low)} to ${times(interval.high)}`,
          ]),
          i === 0 ? String(mib(turns.grownBytes)) : '',
        ]),
      ),
      notes: [
        ...attacked.map(noteOf),
        ...notesOf(beside),
        `${cycles} rounds with each: ${turnMs / 1_000} s with the attack between two quiet halves of ${turnMs / 2_000} s; over sockets, Postgres ${serverVersion}`,
        'service, Postgres, neighbour and attacker on one machine; milliseconds are medians over the rounds, times the median of the ratios of each round',
        `other work took ${othersOf(attacked).toFixed(2)} cores in the quiet halves, by the median of all rounds`,
        `${disturbed} rounds were left out, because other work took more than ${othersMax} cores in their quiet halves`,
      ],
      broken: [...judged.flatMap(({ verdict }) => verdict.broken), ...beside.flatMap(faultsOf)],
      undecided: judged.flatMap(({ verdict }) => verdict.undecided),
    }
  },
}

const othersOf = (attacked: readonly Attacked[]) =>
  median(attacked.flatMap(({ rounds }) => rounds.map(({ others }) => others)))

const noteOf = ({ attack, tally }: Attacked) =>
  `${attack}: the attacker got ${Object.entries(tally)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([status, times]) => `${status} ${times} times`)
    .join(', ')}`
