import { median } from '../bench/harness/statistics.ts'
import type { Drill } from './harness/drill.ts'
import { ms } from './harness/neighbour-verdict.ts'
import { endings } from './harness/right-cases.ts'
import { endedWithinMs, faultsOf, runRights } from './harness/right-run.ts'

const cyclesDefault = 10
/** Long enough for the flood to fill every line of the service. */
const floodMs = 3_000

export const drill: Drill = {
  name: 'p27',
  title: 'A right ends beside a flood by its holder',
  promise:
    'What ends a right is answered within a second, and holds, while the holder floods the service: with six keys on 1,500 connections, with 60 sessions of a person on 960, or with one embed token on 3,000.',
  async run({ cycles = cyclesDefault, signal, say }) {
    const ended = await runRights({ cases: endings, cycles, floodMs, signal, say })
    const byName = Map.groupBy(ended, ({ name }) => name)
    return {
      heading: ['what ends', 'times', 'median', 'longest', 'requests of the holder'],
      align: ['left', 'right', 'right', 'right', 'right'],
      rows: [...byName].map(([name, rounds]) => {
        const took = rounds.map(round => round.ms)
        const asked = rounds
          .flatMap(({ tally }) => Object.values(tally))
          .reduce((sum, times) => sum + times, 0)
        return [name, String(rounds.length), ms(median(took)), ms(Math.max(...took)), String(asked)]
      }),
      notes: [
        `${floodMs / 1_000} s of the flood before each end; ${endedWithinMs} ms allowed`,
        'service, Postgres, owner and holder on one machine',
      ],
      broken: ended.flatMap(faultsOf),
    }
  },
}
