import type { IdempotencyOf } from '../idempotency/gate.ts'
import type { Keyring } from '../keyring/keyring.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { isWhole } from '../runtime/part-of.ts'
import type { KeyringOf, LimiterOf, UsageOf } from './parts.ts'

/** What protects the routes: the keyring, or a `Keyrail`, and the optional other parts. */
export interface Protection {
  keyring: KeyringOf & Partial<Pick<Keyring, 'ready' | 'close'>>
  limiter?: LimiterOf | false | undefined
  idempotency?: IdempotencyOf | undefined
  usage?: UsageOf | false | undefined
}

type Open = Exclude<KeyringSource, Pick<Keyring, 'verify'>>

/** A keyring or a `Keyrail`, or a function that returns one of them, perhaps with the other parts. */
export type KeyringSource = KeyringOf | (() => Protection | KeyringOf | Promise<Protection | KeyringOf>)

/** How long the first requests wait for keys. After that they get 503 until keys are loaded. */
const READY_MS = 5_000

/** How long all requests share a failure before the function is called again. */
const AGAIN_MS = 5_000

/**
 * Calls the function once for all routes that share it, and waits for the keys, `READY_MS` at most. Rejects for all of them
 * if it fails: a wrong option or secret shows with every request until it is corrected.
 */
export const opened = createOpener(() => performance.now())

/** An opening that takes longer than this has ended with the request of a worker that began it, and will never settle. */
const LOST_MS = 30_000

interface Entry {
  readonly protection: Promise<Protection>
  /** Until when all requests share the protection; infinite once it has opened. */
  until: number
}

/** `opened` with the caller's own clock. */
export function createOpener(now: () => number): (open: Open) => Promise<Protection> {
  const known = new WeakMap<Open, Entry>()
  return function opened(open) {
    const before = known.get(open)
    if (before && now() < before.until) return before.protection
    const entry: Entry = { protection: openFully(open), until: now() + LOST_MS }
    known.set(open, entry)
    entry.protection.then(
      () => {
        entry.until = Number.POSITIVE_INFINITY
      },
      () => {
        entry.until = now() + AGAIN_MS
      },
    )
    return entry.protection
  }
}

async function openFully(open: Open): Promise<Protection> {
  const made = typeof open === 'function' ? await open() : open
  // A `Keyrail` is passed on whole, so that the guard finds its limits and counts.
  const protection = isWhole(made, 'keyring') ? (made as Protection) : { keyring: made as KeyringOf }
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, READY_MS)
  })
  const held = protection.keyring as Partial<Pick<Keyring, 'ready'>> | undefined
  const loaded = (async () => held?.ready?.())().catch((error: Partial<KeyrailError>) => {
    // The keyring goes on trying, so its requests get 503 meanwhile.
    if (error.code !== 'ready_timeout') throw error
  })
  await Promise.race([loaded, over]).finally(() => clearTimeout(timer))
  return protection
}
