import type { Drill } from './harness/drill.ts'
import { runRounds } from './harness/idempotency-rounds.ts'

const cyclesDefault = 1_000

export const drill: Drill = {
  name: 'p6',
  title: 'One of simultaneous claims executes',
  promise:
    'One of 2, 10 or 1,000 simultaneous claims, through one process or two, executes and all others get in_progress, also when a lock has ended; once it is answered, all get the answer.',
  async run({ cycles = cyclesDefault, signal, say }) {
    const { figures, broken, serverVersion } = await runRounds({ cycles, sizes: [2, 10, 1_000], signal, say })
    return {
      heading: [
        'claims',
        'processes',
        'when',
        'rounds',
        'execute',
        'in progress',
        'replay',
        '503',
        'slowest ms',
      ],
      align: ['right', 'right', 'left', 'right', 'right', 'right', 'right', 'right', 'right'],
      rows: [...figures].map(([name, { rounds, execute, inProgress, replay, unavailable, slowestMs }]) => {
        const [size = '', processes = '', ...when] = name.split(' ')
        const counts = [rounds, execute, inProgress, replay, unavailable, Math.round(slowestMs)]
        return [size, processes, when.join(' '), ...counts.map(String)]
      }),
      notes: [
        `${cycles} rounds of each size, alternately through one process and through two, over sockets, Postgres ${serverVersion}`,
        'after each round the record belongs to the claim that executes, and the token that was taken over completes nothing',
      ],
      broken,
    }
  },
}
