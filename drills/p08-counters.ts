import { runCounterCrashes } from './harness/counter-crashes.ts'
import type { Drill } from './harness/drill.ts'

const cyclesDefault = 50

export const drill: Drill = {
  name: 'p8',
  title: 'A counter has what was allowed, whatever is killed',
  promise:
    'What was allowed stands in the counter after the service, or its connections, were killed; after a crash of Postgres all but what was allowed in the second before. Never more than was asked.',
  async run({ cycles = cyclesDefault, signal, say }) {
    const { figures, broken, serverVersion } = await runCounterCrashes({ cycles, signal, say })
    return {
      heading: ['killed', 'cycles', 'allowed', 'unanswered', 'forgotten'],
      align: ['left', 'right', 'right', 'right', 'right'],
      rows: [...figures].map(([fault, { cycles, allowed, unanswered, forgotten }]) => [
        fault,
        ...[cycles, allowed, unanswered, forgotten].map(String),
      ]),
      notes: [
        `${cycles} cycles of each, 16 clients on one counter through two processes, Postgres ${serverVersion}, fsync on`,
        'unanswered: an error, or no answer at all; each may have been charged',
      ],
      broken,
    }
  },
}
