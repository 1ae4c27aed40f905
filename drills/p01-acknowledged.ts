import { type Crash, type PointTally, runCrashes, victims } from './harness/crashes.ts'
import type { Drill } from './harness/drill.ts'
import { points } from './harness/points.ts'

const cyclesDefault = 1_200

export const drill: Drill = {
  name: 'p1',
  title: 'An acknowledged mutation is there, whole',
  promise:
    'An acknowledged mutation has its rows, one audit row and its version bump; any other is whole or is not there.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const names = Object.keys(points)
    // Each point meets each victim in turn.
    const crashes = Array.from({ length: cycles }, (_, cycle): Crash => {
      const point = names[cycle % names.length] as string
      const round = Math.floor(cycle / names.length)
      return { cycle, point, victim: victims[(cycle + round) % victims.length] as Crash['victim'] }
    })
    const { tallies, notes, broken } = await runCrashes(crashes, {
      seed,
      clients: 32,
      durable: true,
      signal,
      say,
    })
    return {
      heading: [
        'killed at',
        ...victims.map(victim => `${victim} killed`),
        'acknowledged',
        'lost or doubled',
        'not acknowledged',
        'happened all the same',
        'asked again',
        'broken',
      ],
      align: ['left', ...Array.from({ length: 9 }, () => 'right' as const)],
      rows: [...tallies].map(([point, tally]) => rowOf(point, tally)),
      notes,
      broken,
    }
  },
}

function rowOf(point: string, tally: PointTally): string[] {
  const { cycles, acknowledged, lost, unacknowledged, happened, replayed, broken } = tally
  const counts = [acknowledged, lost, unacknowledged, happened, replayed, broken]
  return [point, ...victims.map(victim => String(cycles[victim])), ...counts.map(String)]
}
