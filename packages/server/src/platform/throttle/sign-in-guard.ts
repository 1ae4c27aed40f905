import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import { checksAtOnce, holdMsOf, quietMs } from './account-failures.ts'
import { networkOf } from './client-network.ts'
import { createNetworkFailures } from './network-failures.ts'
import { Turns } from './turns.ts'

/** Accounts whose failures are remembered when nobody is at them, about 200 bytes each. */
const accountsMax = 50_000

/** Slows down who guesses passwords, and locks nobody out. Each process counts for itself. */
export interface SignInGuard {
  /**
   * Makes an attempt in its turn. After ten failures in a row the answers of more are held, growing to 4 s, with four
   * under way; a right password is answered at once, whatever the count, and sets it back. An attempt that throws
   * counts as none.
   *
   * @param account what is signed in to, whether it exists or not: both are counted alike. Any string.
   * @param attempt whether the password was right.
   * @throws {Refusal} `too_many_requests` when too many wait for their turn already, or when the network has used up
   *   its failures of this minute.
   */
  check(account: string, ip: string, attempt: () => Promise<boolean>, hangUp?: AbortSignal): Promise<boolean>
}

export interface SignInGuardOptions {
  readonly clock: Clock
  readonly sleep: (milliseconds: number) => Promise<void>
  /** Failures that a network may have a minute; null for any number. */
  readonly perNetworkMinute: number | null
}

interface Account {
  readonly turns: Turns
  failures: number
  failedAt: number
}

export function createSignInGuard({ clock, sleep, perNetworkMinute }: SignInGuardOptions): SignInGuard {
  const networks = createNetworkFailures(perNetworkMinute, clock)
  /** Where somebody is at it: never dropped. */
  const busy = new Map<string, Account>()
  const quiet = new LRUCache<string, Account>({ max: accountsMax })

  const enter = (name: string): Account => {
    const account = busy.get(name) ?? quiet.get(name) ?? { turns: new Turns(), failures: 0, failedAt: 0 }
    if (clock.monotonic() - account.failedAt >= quietMs) account.failures = 0
    quiet.delete(name)
    busy.set(name, account)
    return account
  }
  const leave = (name: string, account: Account) => {
    if (!account.turns.isIdle) return
    busy.delete(name)
    if (account.failures > 0) quiet.set(name, account)
  }

  return {
    async check(accountName, ip, attempt, hangUp) {
      const network = networkOf(ip)
      const takeBack = networks.charge(network)
      // Of one length, and no address.
      const name = hash('sha256', accountName, 'base64url')
      const account = enter(name)
      let hasFailed = false
      try {
        await account.turns.begin(network, checksAtOnce(account.failures), hangUp)
        try {
          const isRight = await attempt()
          hasFailed = !isRight
          account.failures = isRight ? 0 : account.failures + 1
          if (hasFailed) {
            account.failedAt = clock.monotonic()
            const holdMs = holdMsOf(account.failures)
            if (holdMs > 0) await sleep(holdMs)
          }
          return isRight
        } finally {
          account.turns.end(checksAtOnce(account.failures))
        }
      } finally {
        if (!hasFailed) takeBack()
        leave(name, account)
      }
    },
  }
}
