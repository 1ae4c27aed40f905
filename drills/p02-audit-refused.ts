import type { Drill } from './harness/drill.ts'
import { obstacles, refuseAll } from './harness/refusals.ts'
import { onStage } from './harness/stage.ts'

const names = Object.keys(obstacles)

export const drill: Drill = {
  name: 'p2',
  title: 'No audit row, no mutation',
  promise:
    'While the audit log cannot be written, every mutating route is refused and the database stays as it was.',
  async run({ say }) {
    return onStage(async stage => {
      const { refused, broken } = await refuseAll(stage, names, say)
      return {
        heading: ['mutation', ...names, 'log intact'],
        align: ['left', ...names.map(() => 'right' as const), 'right'],
        rows: refused.map(({ operation, statuses, afterwards }) => [
          operation,
          ...names.map(name => String(statuses.get(name) ?? '-')),
          String(afterwards),
        ]),
        notes: [
          `${refused.length} mutating routes, found in the route list; - where a new workspace opens its own chain`,
          'dumps of all tables before and after each refused request are compared row by row',
        ],
        broken,
      }
    })
  },
}
