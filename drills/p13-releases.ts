import type { Drill } from './harness/drill.ts'
import { runReleases } from './harness/releases.ts'

const cyclesDefault = 200

export const drill: Drill = {
  name: 'p13',
  title: 'Client and service of different releases work together',
  promise:
    'A client without pages or limits gets from this service every key that may be used, or is refused; this client gets the same from a service that sends neither, and, from a newer service, all keys that it can read.',
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
        'the old client is written by the specification alone; the old service is this one without pages, limits, causes and features',
        'the newer service is this one with unknown fields, features, algorithms, environments, causes, kinds of change and members of keys drawn into its answers; an unknown algorithm is passed on, an unknown kind costs one snapshot',
        'correct before the newer service: no poll fails, a key that cannot be read is refused and reported once, every other one is right; sent in known words it works again',
        'a refusal (413) is correct only where there are more keys than fit into one answer; an answer is never a part of them',
      ],
      broken,
    }
  },
}
