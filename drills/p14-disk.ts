import { runDamage } from './harness/disk-damage.ts'
import type { Drill } from './harness/drill.ts'

const cyclesDefault = 200

export const drill: Drill = {
  name: 'p14',
  title: 'A damaged disk serves no wrong key',
  promise:
    'A disk snapshot that is cut off, altered, of something else, or that others could have written is refused, and the node starts without it; what is taken up is what was written, and no older than it says.',
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
        'every key of what is taken up is verified: that it is there, whose it is, and that none is served too late',
        'a damaged confirmation leaves the snapshot as old as it says itself: taken up, and not served',
      ],
      broken,
    }
  },
}
