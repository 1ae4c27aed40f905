import { readConnection } from '../http/connection-options.ts'
import { explainLacking, isLacking } from '../http/lacking.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { KeyrailSettings } from './options.ts'

/** The parts that a guard takes of a `Keyrail` unasked. */
export type GuardPart = 'limiter' | 'usage'

const paths: Readonly<Record<GuardPart, string>> = {
  limiter: '/v1/ratelimit/check',
  usage: '/v1/usage/reports',
}
const parts = Object.keys(paths) as GuardPart[]

/** A start waits for it at most so long. */
const timeoutMs = 1_000
const maxBytes = 64 * 1024

/**
 * Finds out what the secret key may not do, before a customer comes. The service judges permissions before it reads a body,
 * and the body sent here is never valid, so nothing is charged or counted.
 */
export class Permissions {
  readonly #connection: KeyrailSettings['connection']
  readonly #known = new Set<GuardPart>()
  readonly #lacking = new Map<GuardPart, KeyrailError>()

  constructor(connection: KeyrailSettings['connection']) {
    this.#connection = connection
  }

  /** Why calls of this part will be refused; undefined if they will not, or it is unknown. */
  lacking(part: GuardPart): KeyrailError | undefined {
    return this.#lacking.get(part)
  }

  /** Asks about what is not known yet. Never rejects: without an answer, the first call of the part finds out. */
  async ask(): Promise<void> {
    const call = readConnection(this.#connection)
    const unknown = parts.filter(part => !this.#known.has(part))
    await Promise.all(
      unknown.map(async part => {
        try {
          const accepts = [400, 404, 422]
          await call({ method: 'POST', path: paths[part], body: {}, accepts, timeoutMs, maxBytes })
        } catch (error) {
          if (!isLacking(error)) return
          this.#lacking.set(part, explainLacking(error, part))
        }
        this.#known.add(part)
      }),
    )
  }
}
