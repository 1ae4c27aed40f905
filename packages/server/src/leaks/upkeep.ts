import type pg from 'pg'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { queueMailBy } from '../platform/mail/queue.ts'
import { lettersTo } from './report-letters.ts'
import { pruneLeakRows, type RecipientRow, takeLeftLetter } from './sql.ts'

/** Deletes the places of leaks, which the mail needed. The audit log keeps them. */
export const pruneLeaks: Chore = {
  name: 'leak reports',
  run: client => untilNone(async () => (await client.query(pruneLeakRows)).rowCount ?? 0),
}

/** Queues letters of reports whose process was killed, or lost the store, after it had revoked the keys. */
export const queueLeftLetters: Chore = {
  name: 'letters about leaks',
  run: client => untilNone(() => queueOne(client)),
}

type LeftRow = RecipientRow & { workspace_id: string; letter_id: string }

/** @returns 1, or 0 if there is no such letter. */
async function queueOne(client: pg.ClientBase): Promise<number> {
  await client.query('begin')
  try {
    const { rows } = await client.query<LeftRow>(takeLeftLetter)
    const recipients = rows.filter(({ email }) => email !== null)
    for (const { workspace_id, letter_id } of rows.slice(0, 1))
      for (const letter of lettersTo(recipients, 'leaks', { workspace_id, letter_id }))
        await queueMailBy(client, letter)
    await client.query('commit')
    return Math.min(rows.length, 1)
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
