import type { Drill } from './harness/drill.ts'
import { moments, runStaleness } from './harness/staleness.ts'

const cyclesDefault = 50

export const drill: Drill = {
  name: 'p4',
  title: 'A node that is cut off serves for one minute and no longer',
  promise:
    'A node that is cut off accepts keys until 60,000 ms after the service last confirmed them, and then refuses all of them, from any source and with any change of its clock.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const { seen, broken, serverVersion } = await runStaleness({ cycles, seed, signal, say })
    return {
      heading: ['last confirmed', ...moments.map(moment => `+${moment.toLocaleString('en')} ms`)],
      align: ['left', ...moments.map(() => 'right' as const)],
      rows: seen.map(({ situation, verdicts }) => [
        situation,
        ...moments.map(moment =>
          [...verdicts]
            .filter(([name]) => name.startsWith(`${moment} `))
            .map(([name, times]) => `${times} ${name.split(' ')[1]}`)
            .join(', '),
        ),
      ]),
      notes: [
        `${cycles} cycles of real keyrings against the real service in one process, Postgres ${serverVersion}; their clocks stand still until the drill moves them`,
        'after each, the connection is back and the node serves again by itself',
      ],
      broken,
    }
  },
}
