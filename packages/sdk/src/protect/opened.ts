import type { Idempotency } from '../idempotency/idempotent.ts'
import type { Keyring } from '../keyring/keyring.ts'
import type { Limiter } from '../limits/limit.ts'
import type { UsageReporter } from '../usage/reporter.ts'

/** What protects the routes: the keyring, and the optional other parts. */
export interface Protection {
  keyring: Pick<Keyring, 'verify'> & Partial<Pick<Keyring, 'ready' | 'close'>>
  limiter?: Pick<Limiter, 'limit'> | undefined
  idempotency?: Idempotency | undefined
  usage?: Pick<UsageReporter, 'count'> | undefined
}

type Open = Extract<KeyringSource, () => unknown>

/** A keyring, or a function that returns one with the other parts. */
export type KeyringSource = Pick<Keyring, 'verify'> | (() => Protection | Promise<Protection>)

/** How long the first requests wait for keys. After that they get 503 until keys are loaded. */
const READY_MS = 5_000

/** How long all requests share a failure before the function is called again. */
const AGAIN_MS = 5_000

/**
 * Calls the function once for all routes that share it, and waits for the keys, `READY_MS` at most. Rejects for all of them
 * if it fails: a wrong option or secret shows with every request until it is corrected.
 */
export const opened = createOpener(() => performance.now())

/** `opened` with the caller's own clock. */
export function createOpener(now: () => number): (open: Open) => Promise<Protection> {
  const known = new WeakMap<Open, { protection: Promise<Protection>; failedAt?: number }>()
  return function opened(open) {
    const before = known.get(open)
    if (before && (before.failedAt === undefined || now() - before.failedAt < AGAIN_MS))
      return before.protection
    const entry: { protection: Promise<Protection>; failedAt?: number } = { protection: openFully(open) }
    known.set(open, entry)
    entry.protection.catch(() => {
      entry.failedAt = now()
    })
    return entry.protection
  }
}

async function openFully(open: Open): Promise<Protection> {
  const protection = await open()
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, READY_MS)
  })
  await Promise.race([protection?.keyring?.ready?.(), over]).finally(() => clearTimeout(timer))
  return protection
}
