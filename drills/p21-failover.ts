import type { Drill } from './harness/drill.ts'
import { runFailovers, standbys } from './harness/failover-run.ts'

const cyclesDefault = 5

export const drill: Drill = {
  name: 'p21',
  title: 'A standby becomes the primary',
  promise:
    'When the primary dies and a standby takes over, no policy version is given out twice, and after its next poll a node accepts exactly the keys that the new primary has; with a synchronous standby nothing acknowledged is lost.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const { figures, broken, serverVersion } = await runFailovers({ cycles, seed, signal, say })
    return {
      heading: ['standby', 'failovers', 'acknowledged', 'keys lost', 'revocations lost', 'verdicts judged'],
      align: ['left', 'right', 'right', 'right', 'right', 'right'],
      rows: standbys.map(standby => {
        const { failovers, acknowledged, lost, verdicts } = figures[standby]
        return [standby, ...[failovers, acknowledged, lost.keys, lost.revocations, verdicts].map(String)]
      }),
      notes: [
        `2 processes and 5 nodes, changes until the primary is killed, Postgres ${serverVersion}`,
        'an asynchronous standby loses what it has not received, as docs/operations.md says',
      ],
      broken,
    }
  },
}
