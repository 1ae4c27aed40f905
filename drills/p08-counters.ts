import { runCounterCrashes } from './harness/counter-crashes.ts'
import type { Drill } from './harness/drill.ts'

const cyclesDefault = 50

export const drill: Drill = {
  name: 'p8',
  title: 'A counter keeps every allowed request, whatever is killed',
  promise:
    'A counter has every allowed request after the service, or its connections, were killed; a crash of Postgres may lose those of the second before. It never has more than was requested.',
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
