import type { Drill } from './harness/drill.ts'
import { runRolling } from './harness/rolling-run.ts'

const cyclesDefault = 10

export const drill: Drill = {
  name: 'p22',
  title: 'Processes restart one by one',
  promise:
    'While three processes on a Postgres of 100 connections, behind the shipped files of nginx and HAProxy, are restarted one by one under load, no request fails, held polls come back, and a revocation that waits is acknowledged.',
  async run({ cycles = cyclesDefault, signal, say }) {
    const { proxies, restarts, connections, broken, serverVersion } = await runRolling({
      cycles,
      signal,
      say,
    })
    return {
      heading: ['proxy', 'changes', 'reads', 'held polls', 'revocations', 'acknowledged'],
      align: ['left', 'right', 'right', 'right', 'right', 'right'],
      rows: proxies.map(({ name, counts: { changes, reads, polls, waits }, acknowledged }) =>
        [name, changes, reads, polls, waits, acknowledged].map(String),
      ),
      notes: [
        `${restarts} restarts with SERVICE_DRAIN_DELAY_S=5, Postgres ${serverVersion}`,
        `the processes had ${connections} connections open at most`,
      ],
      broken,
    }
  },
}
