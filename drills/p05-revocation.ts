import { median } from '../bench/harness/statistics.ts'
import type { Drill } from './harness/drill.ts'
import { runRevocations } from './harness/feed-revocations.ts'

const cyclesDefault = 10
/** For two cores that Postgres, the service and the fleet share; the table shows the measured times. */
const slackMs = 1_000

export const drill: Drill = {
  name: 'p5',
  title: 'A revoked key is refused by the whole fleet',
  promise:
    'A node refuses a revoked key within one poll interval, or at once where answers are held; cut off, it serves until its policy is too old, and refuses at its first poll.',
  async run({ cycles = cyclesDefault, signal, say }) {
    const { figures, broken, verified, stale, ended, serverVersion } = await runRevocations({
      cycles,
      slackMs,
      signal,
      say,
    })
    const ms = (value: number) => `${Math.round(value)} ms`
    return {
      heading: ['situation', 'nodes', 'median', 'at most'],
      align: ['left', 'right', 'right', 'right'],
      rows: [...figures].map(([situation, values]) => [
        situation,
        String(values.length),
        ms(median(values)),
        ms(Math.max(...values)),
      ]),
      notes: [
        `${ended} cycles, 4 nodes that poll and 4 whose answers are held, half of each cut off for a while; Postgres ${serverVersion}`,
        `a key accepted for longer than the interval and ${slackMs} ms after its revocation breaks the promise, or for longer than ${slackMs} ms where answers are held`,
        `${verified} verifications, each judged by what its node could know: ${stale} correctly stale`,
      ],
      broken,
    }
  },
}
