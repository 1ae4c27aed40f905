import type { Idempotency } from '../idempotency/idempotent.ts'
import type { Keyring } from '../keyring/keyring.ts'
import type { Limiter } from '../limits/limit.ts'
import type { UsageReporter } from '../usage/reporter.ts'

/** What routes are protected with. */
export interface Protection {
  keyring: Pick<Keyring, 'verify'> & Partial<Pick<Keyring, 'ready' | 'close'>>
  limiter?: Limiter | undefined
  idempotency?: Idempotency | undefined
  usage?: Pick<UsageReporter, 'count'> | undefined
}

type Open = Extract<KeyringSource, () => unknown>

/** A keyring, or what opens one, with what else protects a route. */
export type KeyringSource = Pick<Keyring, 'verify'> | (() => Protection | Promise<Protection>)

/** How long the first requests wait for keys; after that they are refused with 503 until there are some. */
const READY_MS = 5_000

/** How long a failure is told to all who ask, before it is tried once more: not every request asks the service anew. */
const AGAIN_MS = 5_000

/**
 * What a function opens, once for all who name it, and with its keys where they come soon enough. Rejects, for all,
 * where it cannot be opened: a wrong option or a wrong secret shows with every request, until it is right.
 */
export const opened = createOpener(() => performance.now())

/** The same on the caller's clock. */
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
