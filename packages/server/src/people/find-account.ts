import type { Connection } from '../platform/db/connection.ts'
import { type Lane, type LaneObserver, openLane } from '../platform/db/lane.ts'
import { findAccounts } from './sql.ts'

export interface Account {
  userId: string
  /** Argon2id in PHC form. */
  hash: string
}

/** The account of an address, by its `addressKey`; null when there is none. Asked before anybody is signed in. */
export type FindAccount = Lane<string, Account | null>

export function openFindAccount(connection: Connection, observer: LaneObserver): FindAccount {
  return openLane(
    connection,
    {
      name: 'account',
      statement: findAccounts,
      repeatable: true,
      nameOf: addressKey => addressKey,
      values: addressKeys => [addressKeys],
      answers: (rows, addressKeys) => {
        const answers: (Account | null)[] = addressKeys.map(() => null)
        for (const row of rows)
          answers[Number(row.place) - 1] = { userId: String(row.id), hash: String(row.hash) }
        return answers
      },
    },
    observer,
  )
}
