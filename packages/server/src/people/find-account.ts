import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { findAccounts } from './sql.ts'

interface Account {
  userId: string
  /** Whether the address is verified. */
  isVerified: boolean
  /** Argon2id in PHC format. */
  hash: string
  /** The ids of the devices that have signed in with the password. */
  devices: readonly string[]
}

/** Finds the account of an address by its `addressKey`; null when no account has the address. Runs before authentication. */
export type FindAccount = Lane<string, Account | null>

export function openFindAccount(lanes: Lanes): FindAccount {
  return lanes.open({
    name: 'account',
    shares: 'reads',
    statement: findAccounts,
    repeatable: true,
    nameOf: addressKey => addressKey,
    values: addressKeys => [addressKeys],
    answers: (rows, addressKeys) => {
      const answers: (Account | null)[] = addressKeys.map(() => null)
      for (const row of rows)
        answers[Number(row.place) - 1] = {
          userId: String(row.id),
          isVerified: row.verified === true,
          hash: String(row.hash),
          devices: row.devices as string[],
        }
      return answers
    },
  })
}
