import type { Drill } from './harness/drill.ts'
import { runReleases } from './harness/releases.ts'

const cyclesDefault = 200

export const drill: Drill = {
  name: 'p13',
  title: 'Client and service of different releases understand each other',
  promise:
    'A client without pages or limits takes from this service every key that may be used, or is refused; this client takes the same from a service that tells neither.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const { counts, broken, serverVersion } = await runReleases({ cycles, seed, signal, say })
    return {
      heading: ['polls', 'times'],
      align: ['left', 'right'],
      rows: [...counts]
        .toSorted(([a], [b]) => (a < b ? 1 : -1))
        .map(([name, times]) => [name, String(times)]),
      notes: [
        `${cycles} histories of one project, more keys at times than are sent without paging; Postgres ${serverVersion}`,
        'the old client is written by the specification alone; the old service is this one without next_cursor and rate_limits',
        'a refusal (413) is right only where there are more keys than are sent whole, and never a part of them',
      ],
      broken,
    }
  },
}
