import { setImmediate } from 'node:timers/promises'
import { createSignInGuard } from '../src/people/sign-in-guard.ts'

interface Attempt {
  readonly account: string
  readonly network: number
  /** Ends the check of the password. */
  answer(isRight: boolean): void
}

interface Held {
  readonly milliseconds: number
  wake(): void
}

export interface Asked {
  readonly account: string
  readonly network: number
  /** Null while nothing is answered. */
  outcome: boolean | Error | null
}

/** A guard whose attempts end, whose sleepers wake and whose time passes when a test says so. */
export function openStage(perNetworkMinute: number | null = null) {
  let now = 1_000_000
  const attempts: Attempt[] = []
  const held: Held[] = []
  const asked: Asked[] = []
  const guard = createSignInGuard({
    clock: { now: () => now, monotonic: () => now },
    sleep(milliseconds) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const one: Held = {
        milliseconds,
        wake() {
          held.splice(held.indexOf(one), 1)
          resolve()
        },
      }
      held.push(one)
      return promise
    },
    perNetworkMinute,
  })
  const settle = async () => {
    for (let i = 0; i < 3; i++) await setImmediate()
  }
  /** Asks, and lets go what can. */
  const ask = async (account = 'ann', network = 0, hangUp?: AbortSignal): Promise<Asked> => {
    const one: Asked = { account, network, outcome: null }
    asked.push(one)
    const attempt = () => {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const begun: Attempt = {
        account,
        network,
        answer(isRight) {
          attempts.splice(attempts.indexOf(begun), 1)
          resolve(isRight)
        },
      }
      attempts.push(begun)
      return promise
    }
    void guard.check(account, `192.0.2.${network}`, attempt, hangUp).then(
      isRight => {
        one.outcome = isRight
      },
      (error: Error) => {
        one.outcome = error
      },
    )
    await settle()
    return one
  }
  return {
    guard,
    attempts,
    held,
    asked,
    ask,
    settle,
    advance(milliseconds: number) {
      now += milliseconds
    },
    async answer(isRight: boolean, at = 0) {
      attempts[at]?.answer(isRight)
      await settle()
    },
    async wake(at = 0) {
      held[at]?.wake()
      await settle()
    },
    /** Failures of an account, one after another. */
    async fail(times: number, account = 'ann', network = 0) {
      for (let i = 0; i < times; i++) {
        await ask(account, network)
        await this.answer(false)
        await this.wake()
      }
    },
  }
}
