import { hash } from 'node:crypto'
import { sql } from '../db/connection.ts'
import type { Tx } from '../db/transaction.ts'
import { networkOf } from '../network/client-network.ts'
import { Refusal } from '../refusal.ts'

/**
 * Letters a day to addresses that did not ask for them, in the name of one person over all workspaces. The letters carry words
 * of that person, so a higher limit would let anyone with a mailbox send spam in our name.
 */
export const lettersOfPersonMax = 200
/** The same for all people of one network. The network may be an office, or one person with many accounts. */
export const lettersOfNetworkMax = 500

const charge = sql('mail.charge', 'select charge_letter($1, $2) as "secondsUntilFree"')

/**
 * Counts a letter to a third party in this transaction, before it is queued.
 * @param ip the client address, if the person themselves sent the request.
 * @throws {Refusal} `too_many_requests` when the person or their network has sent enough today.
 */
export async function chargeLetter(tx: Tx, personId: string, ip: string | null): Promise<void> {
  await chargeOne(tx, `person ${personId}`, lettersOfPersonMax, 'A person')
  // After the row of the person, in every transaction: both rows stay locked until the commit.
  if (ip !== null) await chargeOne(tx, `network ${networkOf(ip)}`, lettersOfNetworkMax, 'A network')
}

async function chargeOne(tx: Tx, sender: string, most: number, who: string): Promise<void> {
  const [row] = await tx.query<{ secondsUntilFree: number }>(charge, [hash('sha256', sender, 'buffer'), most])
  const secondsUntilFree = row?.secondsUntilFree ?? 0
  if (secondsUntilFree === 0) return
  throw new Refusal(
    'too_many_requests',
    `${who} can send ${most} invitations and verifications of billing addresses a day, over all workspaces.`,
    { headers: { 'retry-after': String(secondsUntilFree) } },
  )
}
