import type pg from 'pg'
import type { Connection } from '../platform/db/connection.ts'
import { Errands } from '../platform/db/pool/errands.ts'
import type { Chore } from '../platform/db/upkeep.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Reading } from '../platform/observe/readings.ts'
import { chainFigures, dueChains, noteVerification } from './sql.ts'
import { openVerifyThread } from './verify-thread.ts'

/** After this time the rest waits for the next round, so that other chores of upkeep have their turn. */
const roundMs = 60_000
const chainsAtOnce = 100
/** If so many chains cannot be verified, the cause is not in the chains, and the round ends. */
const failuresMost = 3

interface VerifyParts {
  readonly connection: Connection
  readonly log: Pick<Logger, 'error'>
  /** Milliseconds that never step back. */
  readonly monotonic: () => number
  readonly errands?: Errands
}

/**
 * Verifies each chain once a day, one after the other, in a thread of low priority. Each chain has its own time of the day, and
 * is noted when it is verified, so a restart continues with the next chain. A broken chain is verified again every hour. A
 * chain that cannot be verified, for example because the database reads too slowly, stays due, and the next chains have their
 * turn.
 */
export const verifyChains = ({
  connection,
  log,
  monotonic,
  errands = new Errands(connection),
}: VerifyParts): Chore => ({
  name: 'audit chains',
  async run(client, signal) {
    const end = monotonic() + roundMs
    const { rows } = await client.query<{ id: string }>({ ...dueChains, values: [chainsAtOnce] })
    if (rows.length === 0) return 0
    // Not the thread of requests, because this thread ends with the service, even in the middle of a chain.
    const thread = openVerifyThread(connection)
    signal?.addEventListener('abort', thread.close, { once: true })
    let verified = 0
    const failures: unknown[] = []
    try {
      for (const { id } of rows) {
        if (signal?.aborted || monotonic() >= end || failures.length >= failuresMost) break
        const found = await errands
          .run('upkeep', () => thread.verify(id))
          .catch(error => {
            failures.push(error)
            if (signal?.aborted) return null
            log.error({ workspace_id: id, err: error }, 'an audit chain could not be verified')
            return null
          })
        if (found === null) continue
        const { valid, first_bad_seq, reason } = found
        if (!valid) log.error({ workspace_id: id, first_bad_seq, reason }, 'an audit chain is broken')
        await client.query({ ...noteVerification, values: [id, first_bad_seq] })
        verified += 1
      }
    } catch (error) {
      failures.push(error)
    } finally {
      signal?.removeEventListener('abort', thread.close)
      thread.close()
    }
    if (failures.length > 0 && !signal?.aborted) throw failures[0]
    return verified
  },
})

/** What the daily verification has found. */
export const chainsReading: Reading = {
  figures: [
    {
      name: 'keyrail_audit_chains',
      help: 'Audit chains by the result of their last verification.',
      labels: ['state'],
    },
    {
      name: 'keyrail_audit_last_verification_timestamp_seconds',
      help: 'When a chain was last verified by the service itself; 0: never.',
    },
    {
      name: 'keyrail_audit_verification_overdue_seconds',
      help: 'How long the daily verification of a chain is late; 0 when none is.',
    },
  ],
  async read(client: pg.ClientBase) {
    const { rows } = await client.query(chainFigures.text)
    const [{ valid, broken, unverified, last, overdue }] = rows
    return {
      keyrail_audit_chains: [
        { labels: { state: 'valid' }, value: valid },
        { labels: { state: 'broken' }, value: broken },
        { labels: { state: 'unverified' }, value: unverified },
      ],
      keyrail_audit_last_verification_timestamp_seconds: [{ value: last }],
      keyrail_audit_verification_overdue_seconds: [{ value: overdue }],
    }
  },
}
