import type { Drill } from './harness/drill.ts'
import { runInterleavings } from './harness/feed-interleavings.ts'

const cyclesDefault = 1_000

export const drill: Drill = {
  name: 'p11',
  title: 'No version is visible before a lower one',
  promise:
    'However transactions interleave, a node that polls between their steps gets every committed change, and no other.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const { tallies, broken, serverVersion } = await runInterleavings({ cycles, seed, signal, say })
    return {
      heading: ['interleaving', 'rounds', 'committed', 'rolled back', 'had to wait', 'polls', 'changes read'],
      align: ['left', 'right', 'right', 'right', 'right', 'right', 'right'],
      rows: [...tallies]
        .toSorted(([a], [b]) => b.localeCompare(a))
        .map(([kind, { rounds, committed, rolledBack, waited, polls, changesRead }]) => [
          kind,
          ...[rounds, committed, rolledBack, waited, polls, changesRead].map(String),
        ]),
      notes: [
        `a connection a transaction, two nodes that poll between their steps, Postgres ${serverVersion}`,
        'every order of two: each begins, raises the version, and commits or rolls back; 20 orders, 4 endings',
      ],
      broken,
    }
  },
}
