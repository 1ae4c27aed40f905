import { addressKey } from '../people/address.ts'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import type { Db } from '../platform/db/db.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { type QueuedMail, queueMail } from '../platform/mail/queue.ts'
import { workAtOnce } from './at-once.ts'
import type { LeakNeeds } from './needs.ts'
import { listRecipientRows, noteLetter, type RecipientRow, takeLetter } from './sql.ts'

type LetterNeeds = Pick<LeakNeeds, 'budgets' | 'log' | 'makeId'>

/**
 * The letters of one report: one letter for each workspace names all its keys. Each key is revoked in a separate transaction,
 * and the first of these also notes the letter. Once all keys are done the letter is queued, by this process or by
 * `queueLeftLetters`.
 */
export class ReportLetters {
  readonly #deps: LetterNeeds
  readonly #letters = new Map<string, ReportLetter>()

  constructor(deps: LetterNeeds) {
    this.#deps = deps
  }

  /** The letter to a workspace. */
  to(workspaceId: string): ReportLetter {
    const known = this.#letters.get(workspaceId)
    if (known !== undefined) return known
    const letter = new ReportLetter(this.#deps.makeId())
    this.#letters.set(workspaceId, letter)
    return letter
  }

  /** Queues the letters. A letter that cannot be queued now is left to upkeep. */
  async queue(db: Db, deadline: Deadline): Promise<void> {
    await workAtOnce(this.#letters, async ([workspaceId, { id, isNoted }]) => {
      if (!isNoted || deadline.leftMs() <= 0) return
      try {
        const own = db.by(deadline.earlier(this.#deps.budgets.requestMs))
        await own.inWorkspace(workspaceId, tx => queueLetter(tx, id))
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'a letter about leaks waits for upkeep')
      }
    })
  }
}

class ReportLetter {
  readonly id: string
  /** Whether a transaction has noted the letter. The transaction may not have committed. */
  isNoted = false
  /** Whether such a transaction has committed, so that no other transaction needs to note the letter. */
  isStored = false

  constructor(id: string) {
    this.id = id
  }

  note(tx: Tx): void {
    this.isNoted = true
    if (!this.isStored) noteLetter(tx, this.id)
  }
}

async function queueLetter(tx: Tx, letterId: string): Promise<void> {
  const [recipients, isLeft] = await Promise.all([listRecipientRows(tx), takeLetter(tx, letterId)])
  if (!isLeft) return
  const ids = { workspace_id: tx.workspaceId, letter_id: letterId }
  for (const letter of lettersTo(recipients, 'leaks', ids)) queueMail(tx, letter)
}

/**
 * One letter to each address, in one order in every transaction, because each mail locks the throttle of its address until the
 * commit.
 * @param recipients owners first, so that an owner whose address is also the billing address gets the owner's mail.
 * @param own a letter that replaces the one to its address.
 */
export function lettersTo(
  recipients: readonly RecipientRow[],
  kind: 'leak' | 'leaks',
  ids: Readonly<Record<string, string>> & { workspace_id: string },
  own: QueuedMail | null = null,
): QueuedMail[] {
  const letters = new Map<string, QueuedMail>()
  if (own !== null) letters.set(own.address, own)
  for (const { user_id, email } of recipients) {
    const address = addressKey(email)
    if (letters.has(address)) continue
    letters.set(address, {
      kind,
      throttle: 'leak',
      isAlarm: true,
      workspaceId: ids.workspace_id,
      address,
      ids: { ...ids, ...(user_id !== null && { user_id }) },
    })
  }
  return [...letters.values()].toSorted((a, b) => (a.address < b.address ? -1 : 1))
}
