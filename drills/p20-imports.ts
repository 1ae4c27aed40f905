import type { Drill } from './harness/drill.ts'
import { crashImports } from './harness/import-crashes.ts'

const cyclesDefault = 100
const rows = 20_000

export const drill: Drill = {
  name: 'p20',
  title: 'An import that is killed has each row once',
  promise:
    'However often the command that imports a file, or the service, is killed meanwhile, the same command goes on, and in the end each row is one key with one audit row.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const { kills, files, broken } = await crashImports({ kills: cycles, rows, seed, signal, say })
    return {
      heading: ['killed', 'times'],
      align: ['left', 'right'],
      rows: Object.entries(kills).map(([victim, count]) => [victim, String(count)]),
      notes: [`${files} files of ${rows} rows`],
      broken,
    }
  },
}
