import type { Drill } from './harness/drill.ts'
import { runSuspensions } from './harness/suspensions.ts'

const cyclesDefault = 1_000
/** For two cores that Postgres, the service and the nodes share. */
const slackMs = 1_000

export const drill: Drill = {
  name: 'p19',
  title: 'A suspended tenant is refused, and resumed as it was',
  promise:
    'No node admits a request with a key of a suspended tenant later than one poll interval after the answer, or at once where answers are held; resumed, every key is exactly what it was.',
  async run({ cycles = cyclesDefault, signal, say }) {
    const { broken, verified, longest, ended, nodes, serverVersion } = await runSuspensions({
      cycles,
      slackMs,
      signal,
      say,
    })
    const ms = (value: number) => `${Math.round(value)} ms`
    return {
      heading: ['nodes', 'last request admitted after the answer, at most'],
      align: ['left', 'right'],
      rows: [
        ['that poll every 200 ms', ms(longest.polled)],
        ['whose answers are held', ms(longest.held)],
      ],
      notes: [
        `${ended} suspensions and as many resumptions, ${nodes} nodes, ${verified} verifications; Postgres ${serverVersion}`,
        'the rows of all keys before and after are compared as text',
      ],
      broken,
    }
  },
}
