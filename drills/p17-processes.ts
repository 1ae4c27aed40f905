import type { Drill } from './harness/drill.ts'
import { runFleet } from './harness/fleet-run.ts'

const cyclesDefault = 50

export const drill: Drill = {
  name: 'p17',
  title: 'Three processes are one service',
  promise:
    'An action of one process counts in every other: revocations, limits, claims, sessions, memberships and epochs, also while one of three is killed and restarts.',
  async run({ cycles = cyclesDefault, signal, say }) {
    const { tried, kills, broken, serverVersion } = await runFleet({ cycles, signal, say })
    return {
      heading: ['case', 'three up', 'one away'],
      align: ['left', 'right', 'right'],
      rows: [...tried].map(([name, { whole, away }]) => [name, String(whole), String(away)]),
      notes: [
        `${kills} kills, over sockets, Postgres ${serverVersion}`,
        'the chain verifies through each of them at the end',
      ],
      broken,
    }
  },
}
