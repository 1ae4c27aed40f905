import { hash } from 'node:crypto'
import type { Clock } from '../platform/clock.ts'
import { partOf } from '../platform/concurrency/part-of.ts'
import { recentlyUsed } from '../platform/concurrency/recently-used.ts'
import { createNetworkFailures } from './network-failures.ts'
import { Turns } from './sign-in-turns.ts'

/** Failures in a row without a delay: a person may be wrong so often. */
export const freeFailures = 10

/** The longest that the answer of a failure is held, in ms. */
const holdMsMax = 4_000

const firstHoldMs = 250

/** Checks of one account that may be under way beyond the free failures. */
export const fewestAtOnce = 4

/** After how long without a failure an account's failures are forgotten, in ms. */
export const quietMs = 15 * 60_000

/** How long the answer of this failure in a row is held: 0.25, 0.5, 1, 2, then 4 s. @param free failures without a delay. */
export const holdMsOf = (failures: number, free = freeFailures): number =>
  failures <= free ? 0 : Math.min(holdMsMax, firstHoldMs * 2 ** (failures - free - 1))

/**
 * How many checks may be under way after so many failures in a row: as many as there are free failures left, because all of
 * them may fail, but at least four. A held answer counts as under way, so four answers held for 4 s make one guess a second.
 */
export const checksAtOnce = (failures: number, free = freeFailures, fewest = fewestAtOnce): number =>
  Math.max(fewest, free - failures)

/** Maximum idle accounts whose failures are remembered, about 200 bytes each. */
const accountsMax = 50_000

/** Slows down password guessing without locking accounts. Each process counts separately, its part of what is free. */
export interface SignInGuard {
  /**
   * Runs an attempt in its turn. After ten failures in a row, the answers to further wrong passwords are delayed by up to 4 s,
   * with four attempts at once. A right password is answered at once and resets the count. An attempt that throws does not
   * count.
   *
   * @param account any string. Existing and unknown accounts count alike.
   * @param lane the name under which attempts wait and failures count: a network, or a known device.
   * @param attempt whether the password was right.
   * @throws {Refusal} `too_many_requests` when too many attempts wait already, or when the network has used up its failures for
   * this minute.
   */
  check(
    account: string,
    lane: string,
    attempt: () => Promise<boolean>,
    hangUp?: AbortSignal,
  ): Promise<boolean>
}

export interface SignInGuardOptions {
  readonly clock: Clock
  readonly sleep: (milliseconds: number) => Promise<void>
  /** Maximum failures of one network in a minute; null: unlimited. */
  readonly perNetworkMinute: number | null
  /** Among which the free failures and the checks at once are divided; unset: one. */
  readonly processes?: number
}

interface Account {
  readonly turns: Turns
  failures: number
  failedAt: number
}

export function createSignInGuard(options: SignInGuardOptions): SignInGuard {
  const { clock, sleep, perNetworkMinute, processes = 1 } = options
  const free = partOf(freeFailures, processes)
  const atOnce = (failures: number) => checksAtOnce(failures, free, partOf(fewestAtOnce, processes))
  const networks = createNetworkFailures(perNetworkMinute, clock)
  /** Accounts with an attempt under way; never dropped. */
  const busy = new Map<string, Account>()
  const quiet = recentlyUsed<Account>(accountsMax)

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
    async check(accountName, lane, attempt, hangUp) {
      const takeBack = networks.charge(lane)
      // A hash has a fixed length and contains no address.
      const name = hash('sha256', accountName, 'base64url')
      const account = enter(name)
      let hasFailed = false
      try {
        await account.turns.begin(lane, atOnce(account.failures), hangUp)
        try {
          const isRight = await attempt()
          hasFailed = !isRight
          account.failures = isRight ? 0 : account.failures + 1
          if (hasFailed) {
            account.failedAt = clock.monotonic()
            const holdMs = holdMsOf(account.failures, free)
            if (holdMs > 0) await sleep(holdMs)
          }
          return isRight
        } finally {
          account.turns.end(atOnce(account.failures))
        }
      } finally {
        if (!hasFailed) takeBack()
        leave(name, account)
      }
    },
  }
}
