import type { Bench } from './harness/bench.ts'
import { cpuOf, limitedVendors } from './service/limited-vendor.ts'

export const bench: Bench = {
  name: 'G3H',
  title: 'A limited request of one hot key, CPU of all processes, against Redis in the vendor’s process',
  goal: [
    { metric: cpuOf('64 in flight'), direction: 'at most', floor: 1, moonshot: 0.5 },
    { metric: cpuOf('2,000 a second'), direction: 'at most', floor: 0.4, moonshot: 0.2 },
  ],
  arms: run => limitedVendors(run, 1),
}
