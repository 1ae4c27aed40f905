import { hash } from 'node:crypto'
import type pg from 'pg'
import { sql } from '../db/connection.ts'
import type { Transaction } from '../db/transaction.ts'
import { siteOf } from '../network/client-network.ts'

/** The task whose jobs `queue_mail` queues. */
export const mailTask = 'keyrail_mail'

export interface QueuedMail {
  /** The kind of letter: the name of its writer. Lower-case letters and `_`. */
  readonly kind: string
  /**
   * The name of a throttle: five letters an hour are sent to an address under one name. Letters that must not reveal which of
   * them was sent share one throttle.
   */
  readonly throttle: string
  /** The workspace that the letter is about: letters of one workspace use up no quota of another at the same address. */
  readonly workspaceId?: string
  /** The address in the canonical form in which addresses are compared. It is hashed for the throttle and stored nowhere else. */
  readonly address: string
  /** The ids with which the writer finds the letter's contents. A null id means no recipient: the writer then writes nothing. */
  readonly ids: Readonly<Record<string, string | null>>
  /**
   * Set for letters that must not be lost: those above the throttle are gathered in one letter of the kind with `_gathered`,
   * which begins with these ids.
   */
  readonly isAlarm?: true
  /**
   * Set if a client that has proved nothing about the address can cause the letter. Such letters are sent after other letters,
   * and the sites of their clients take turns. Not for alarms.
   */
  readonly askedFrom?: { readonly ip: string; readonly isToVerified: boolean }
}

const queue = sql('mail.queue', 'select queue_mail($1, $2, $3, $4)')
const queueAlarm = sql('mail.queue_alarm', 'select queue_alarm($1, $2, $3, $4)')
const queueInTurn = sql('mail.queue_in_turn', 'select queue_in_turn($1, $2, $3, $4, $5, $6)')
const statementOf = ({ isAlarm, askedFrom }: QueuedMail) =>
  isAlarm ? queueAlarm : askedFrom === undefined ? queue : queueInTurn

/**
 * Queues one message in this transaction, to be sent after its commit. If the address has had enough letters, the message is
 * silently dropped, or sent later. The caller neither waits nor learns the outcome.
 */
export const queueMail = (tx: Transaction, mail: QueuedMail): void =>
  tx.send(statementOf(mail), valuesOf(mail))

/** As `queueMail`, in the transaction of a chore. */
export async function queueMailBy(client: pg.ClientBase, mail: QueuedMail): Promise<void> {
  await client.query(statementOf(mail).text, valuesOf(mail))
}

const valuesOf = ({ kind, throttle, workspaceId, address, ids, isAlarm, askedFrom }: QueuedMail) => [
  kind,
  throttle,
  hash('sha256', workspaceId === undefined ? address : `${workspaceId} ${address}`, 'buffer'),
  JSON.stringify(ids),
  ...(isAlarm || askedFrom === undefined
    ? []
    : [hash('sha256', `turn ${siteOf(askedFrom.ip)}`, 'buffer'), askedFrom.isToVerified]),
]
