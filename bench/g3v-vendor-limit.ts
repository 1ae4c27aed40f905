import type { Bench } from './harness/bench.ts'
import { cpuOf, limitedVendors } from './service/limited-vendor.ts'

const KEYS = 1_000

export const bench: Bench = {
  name: 'G3V',
  title: 'A limited request over 1,000 keys, CPU of all processes, against Redis in the vendor’s process',
  goal: [
    { metric: cpuOf('64 in flight'), direction: 'at most', floor: 4, moonshot: 2 },
    { metric: cpuOf('2,000 a second'), direction: 'at most', floor: 4, moonshot: 2 },
  ],
  arms: run => limitedVendors(run, KEYS),
}
