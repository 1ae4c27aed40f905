import type { Idempotency } from './idempotent.ts'
import type { Keyring } from './keyring.ts'
import type { Limiter } from './limit.ts'
import type { UsageReporter } from './usage-reporter.ts'

/** What routes are protected with. */
export interface Protection {
  keyring: Pick<Keyring, 'verify'> & Partial<Pick<Keyring, 'ready'>>
  limiter?: Limiter | undefined
  idempotency?: Idempotency | undefined
  usage?: Pick<UsageReporter, 'count'> | undefined
}

/** How long the first requests wait for keys; after that they are refused with 503 until there are some. */
const READY_MS = 5_000

const known = new WeakMap<() => unknown, Promise<Protection>>()

/**
 * What a function opens, once for all who name it, and with its keys where they come soon enough. Rejects, for all and
 * for good, where it cannot be opened: a wrong option or a wrong secret shows with every request.
 */
export function opened(open: () => Protection | Promise<Protection>): Promise<Protection> {
  let protection = known.get(open)
  if (protection === undefined) {
    protection = openFully(open)
    known.set(open, protection)
  }
  return protection
}

async function openFully(open: () => Protection | Promise<Protection>): Promise<Protection> {
  const protection = await open()
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, READY_MS)
  })
  await Promise.race([protection?.keyring?.ready?.(), over]).finally(() => clearTimeout(timer))
  return protection
}
