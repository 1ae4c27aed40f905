import type { Drill } from './harness/drill.ts'
import { onStage } from './harness/stage.ts'
import { tamper } from './harness/tampering.ts'

const rowsLeast = 50

export const drill: Drill = {
  name: 'p3',
  title: 'A forged audit chain is detected',
  promise:
    'Any column of any row changed, a row deleted, moved or added, or a tail cut, is reported at its first bad position.',
  async run({ say }) {
    return onStage(async stage => {
      const { length, kinds, broken, notes } = await tamper(stage, { rows: rowsLeast, say })
      const tried = [...kinds.values()].reduce((sum, tally) => sum + tally.tried, 0)
      return {
        heading: ['forgery', 'tried', 'judged right'],
        align: ['left', 'right', 'right'],
        rows: [...kinds].map(([kind, tally]) => [kind, String(tally.tried), String(tally.right)]),
        notes: [
          `a chain of ${length} rows, written through the API; ${tried} forgeries, each undone before the next`,
          ...notes,
        ],
        broken,
      }
    })
  },
}
