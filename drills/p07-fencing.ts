import type { Drill } from './harness/drill.ts'
import { runHistories } from './harness/idempotency-histories.ts'

const cyclesDefault = 100

export const drill: Drill = {
  name: 'p7',
  title: 'A holder that lost a record cannot change it',
  promise:
    'A lock token that was taken over, released or answered can complete, release or extend nothing, however calls interleave and whatever is killed meanwhile; some order of the calls explains every answer.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const { verdicts, kills, broken, ended, serverVersion } = await runHistories({
      cycles,
      seed,
      signal,
      say,
    })
    const rows = [...verdicts].toSorted(([a], [b]) => a.localeCompare(b))
    return {
      heading: ['call', 'answered', 'times'],
      align: ['left', 'left', 'right'],
      rows: rows.map(([name, times]) => [...name.split(' '), String(times)]),
      notes: [
        `${ended} histories of 40 steps over 24 records, up to 4 calls of a record at once through two processes, Postgres ${serverVersion}`,
        `killed in the middle of a step: one of the processes ${kills.service} times, all connections ${kills.backends}, Postgres ${kills.postmaster}`,
        'between steps the clock jumps to a millisecond before, at and after the ends of locks and lives',
      ],
      broken,
    }
  },
}
