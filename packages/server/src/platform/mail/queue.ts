import { hash } from 'node:crypto'
import { sql } from '../db/connection.ts'
import type { Transaction } from '../db/transaction.ts'

export interface QueuedMail {
  /** Which letter is to be written: the name of its writer. Lower-case letters and `_`. */
  readonly kind: string
  /**
   * What counts together: an address is sent five an hour of it. Letters that a stranger must not tell apart by their
   * number share one.
   */
  readonly throttle: string
  /** In the canonical form, in which addresses are compared. It is hashed for the throttle and goes nowhere else. */
  readonly address: string
  /** What the writer finds the letter's contents by. An id that is null: nobody, and nothing is written when its turn comes. */
  readonly ids: Readonly<Record<string, string | null>>
}

const queue = sql('mail.queue', 'select queue_mail($1, $2, $3, $4)')

/**
 * Queues one message in this transaction, for after its commit; silently none when the address has had enough. The
 * caller neither waits nor hears what came of it.
 */
export function queueMail(tx: Transaction, { kind, throttle, address, ids }: QueuedMail): void {
  tx.send(queue, [kind, throttle, hash('sha256', address, 'buffer'), JSON.stringify(ids)])
}
