import type { Drill } from './harness/drill.ts'
import { runDeliveries } from './harness/leak-deliveries.ts'

const cyclesDefault = 20

export const drill: Drill = {
  name: 'p12',
  title: 'A reported leak is ended, even if another one fails',
  promise:
    'When one token of a report fails, the others are revoked all the same and the answer asks the sender to deliver again; however often it does, each token has one audit row.',
  async run({ cycles = cyclesDefault, seed, signal, say }) {
    const { tallies, broken, serverVersion } = await runDeliveries({ cycles, seed, signal, say })
    return {
      heading: [
        'one token fails, since',
        'reports',
        'tokens revoked all the same',
        'redeliveries',
        'audit rows',
      ],
      align: ['left', 'right', 'right', 'right', 'right'],
      rows: [...tallies].map(([kind, { deliveries, revokedAllTheSame, redeliveries, auditRows }]) => [
        kind,
        ...[deliveries, revokedAllTheSame, redeliveries, auditRows].map(String),
      ]),
      notes: [
        `24 tokens a report: API keys, secret keys and sessions of three workspaces; Postgres ${serverVersion}, fsync on`,
        'three of the redeliveries at once; workspaces are whole, and their chains hold, after each',
      ],
      broken,
    }
  },
}
