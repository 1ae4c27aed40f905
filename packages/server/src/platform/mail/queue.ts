import { hash } from 'node:crypto'
import type pg from 'pg'
import { sql } from '../db/connection.ts'
import type { Transaction } from '../db/transaction.ts'

export interface QueuedMail {
  /** The kind of letter: the name of its writer. Lower-case letters and `_`. */
  readonly kind: string
  /**
   * What counts together: an address is sent five per hour. Letters whose number must not reveal which of them
   * was sent share one throttle.
   */
  readonly throttle: string
  /** In the canonical form in which addresses are compared. It is hashed for the throttle and stored nowhere else. */
  readonly address: string
  /**
   * The ids with which the writer finds the letter's contents. A null id means no recipient: nothing is written
   * when its turn comes.
   */
  readonly ids: Readonly<Record<string, string | null>>
}

const queue = sql('mail.queue', 'select queue_mail($1, $2, $3, $4)')

/**
 * Queues one message in this transaction, to be sent after its commit; silently none if the address has had
 * enough. The caller neither waits nor learns the outcome.
 */
export const queueMail = (tx: Transaction, mail: QueuedMail): void => tx.send(queue, valuesOf(mail))

/** The same in the transaction of a chore. */
export async function queueMailBy(client: pg.ClientBase, mail: QueuedMail): Promise<void> {
  await client.query(queue.text, valuesOf(mail))
}

const valuesOf = ({ kind, throttle, address, ids }: QueuedMail) => [
  kind,
  throttle,
  hash('sha256', address, 'buffer'),
  JSON.stringify(ids),
]
