import { degradations } from '@keyrail/contract/health'
import type { Passwords } from '../crypto/password.ts'
import type { Readiness } from '../db/failover/readiness.ts'
import type { Lanes } from '../db/lanes/lanes.ts'
import type { Pool } from '../db/pool/pool.ts'
import type { LargeBodies } from '../http/body/large-bodies.ts'
import type { Figure } from './figures.ts'
import { linesDropped } from './log.ts'

interface Watched {
  readonly pool: Pick<Pool, 'depth'>
  readonly lanes: Pick<Lanes, 'depths'>
  readonly readiness: Readiness
  readonly largeBodies: Pick<LargeBodies, 'held'>
  readonly signedBodies: Pick<LargeBodies, 'held'>
  readonly passwords: Pick<Passwords, 'waiting'>
}

/** Use of the bounded resources of this process, and the queues for them. */
export const platformFigures = (watched: Watched): readonly Figure[] => [
  {
    name: 'keyrail_processes',
    help: 'Processes that serve requests.',
    read: () => [{ value: 1 }],
  },
  {
    name: 'keyrail_log_lines_dropped_total',
    help: 'Log lines dropped, because standard output took no more.',
    read: linesDropped,
  },
  {
    name: 'keyrail_degraded',
    help: 'Why `/readyz` says `degraded`: 1 while it does, else 0.',
    gathered: 'max',
    // If the database does not answer, other figures show it.
    before: async () => void (await watched.readiness.check().catch(() => {})),
    read: () =>
      degradations.map(reason => ({
        labels: { reason },
        value: watched.readiness.degraded() === reason ? 1 : 0,
      })),
  },
  ...poolFigures(watched),
  {
    name: 'keyrail_large_bytes',
    help: 'Bytes of large bodies and responses in memory.',
    read: () => [{ value: watched.largeBodies.held() + watched.signedBodies.held() }],
  },
  {
    name: 'keyrail_passwords_waiting',
    help: 'Requests that wait for a hashing thread.',
    read: () => [{ value: watched.passwords.waiting() }],
  },
  {
    name: 'keyrail_lane_waiting',
    help: 'Items that wait for a statement of a lane.',
    read: () => watched.lanes.depths().map(({ lane, waiting }) => ({ labels: { lane }, value: waiting })),
  },
]

const poolFigures = ({ pool }: Pick<Watched, 'pool'>): readonly Figure[] => [
  {
    name: 'keyrail_pool_connections',
    help: 'Connections of the management pool.',
    read() {
      const { total, idle } = pool.depth()
      return [
        { labels: { state: 'busy' }, value: total - idle },
        { labels: { state: 'idle' }, value: idle },
      ]
    },
  },
  {
    name: 'keyrail_pool_waiting',
    help: 'Requests that wait for a connection.',
    read: () => [{ value: pool.depth().waiting }],
  },
  {
    name: 'keyrail_pool_waiting_parties',
    help: 'Workspaces, people and others whose requests wait.',
    read: () => [{ value: pool.depth().parties }],
  },
]
