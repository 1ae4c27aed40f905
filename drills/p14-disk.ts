import { runDamage } from './harness/disk-damage.ts'
import type { Drill } from './harness/drill.ts'

const cyclesDefault = 200

export const drill: Drill = {
  name: 'p14',
  title: 'A damaged disk serves no wrong key',
  promise:
    'A node refuses a disk snapshot that is cut off, altered, for another policy, or writable by others, and starts without it; a snapshot that it accepts is the one that was written, and no older than it says.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const { tried, broken } = await runDamage({ cycles, seed, signal, say })
    return {
      heading: ['damage', 'tried', 'refused', 'taken up'],
      align: ['left', 'right', 'right', 'right'],
      rows: tried.map(({ damage, ...counts }) => [
        damage,
        ...[counts.tried, counts.refused, counts.taken].map(String),
      ]),
      notes: [
        'every key of an accepted snapshot is verified: that it is there, whose it is, and that none is served too late',
        'a damaged confirmation leaves the snapshot with its own age: accepted, and not served',
      ],
      broken,
    }
  },
}
