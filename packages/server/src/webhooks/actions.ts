import type { LeakFeedback } from '@keyrail/contract/webhook'
import type { Deps } from '../deps.ts'
import { unauthenticated } from '../gate/authenticate.ts'
import type { Signature } from '../gate/signature.ts'
import { displayPrefix } from '../platform/crypto/token.ts'
import { deadlineMs } from '../platform/db/deadline.ts'
import { Refusal } from '../platform/refusal.ts'
import type { Leaked } from './find-leaked.ts'
import { type Report, readReports } from './reports.ts'
import { revokeLeaked } from './revoke.ts'

/** GitHub waits 30 s for an answer. */
const allMs = 25_000
/** Transactions under way of one delivery; a part of the pool, so that others are served beside it. */
const atOnce = 6
/** Tokens that are looked up together: as many as a batch of the lane takes. */
const foundAtOnce = 500

/**
 * Ends every credential that a code host reports. Before the signature has proved true nothing is parsed, no token is
 * hashed and no connection is used. Each token stands for itself: what failed is delivered again, and what was done
 * before is found done.
 */
export async function receiveLeaks(deps: Deps, bytes: Buffer, signature: Signature): Promise<LeakFeedback> {
  const until = performance.now() + allMs
  if (!(await deps.codehostKeys.haveSigned(bytes, signature))) throw unauthenticated()
  const reports = readReports(bytes)
  const found = await findAll(deps, reports, until)
  await revokeAll(deps, reports, found, until)
  return reports.map(({ token, digest, type }) => ({
    token_hash: digest.toString('hex'),
    token_type: type,
    label: found.has(token) ? 'true_positive' : 'false_positive',
  }))
}

/** What was issued here, by token. Nothing is asked about what has not the form of a credential. */
async function findAll(deps: Deps, reports: readonly Report[], until: number): Promise<Map<string, Leaked>> {
  const credentials = reports.filter(({ place }) => place !== null)
  const asked = [...new Map(credentials.map(({ token, digest }) => [token, digest]))]
  const found = new Map<string, Leaked>()
  for (let i = 0; i < asked.length; i += foundAtOnce) {
    const ask = async ([token, digest]: [string, Buffer]) => {
      const leaked = await deps.findLeaked.run(digest, Math.min(until, performance.now() + deadlineMs))
      if (leaked !== null) found.set(token, leaked)
    }
    await Promise.all(asked.slice(i, i + foundAtOnce).map(ask))
  }
  return found
}

/**
 * Ends what was found, several at once. The first entry that names a token says where it was found.
 * @throws {Refusal} `unavailable` when one or more could not be ended, after all others have been.
 */
async function revokeAll(
  deps: Deps,
  reports: readonly Report[],
  found: ReadonlyMap<string, Leaked>,
  until: number,
): Promise<void> {
  const places = new Map(reports.toReversed().map(({ token, place }) => [token, place]))
  const left = [...found].values()
  const failures: unknown[] = []
  const work = async () => {
    for (const [token, leaked] of left) {
      const place = places.get(token) ?? { url: null, source: null }
      try {
        const own = deps.db.until(Math.min(until, performance.now() + deadlineMs))
        await revokeLeaked(deps, own, { leaked, displayPrefix: displayPrefix(token), place })
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  if (failures.length === 0) return
  throw new Refusal(
    'unavailable',
    `${failures.length} of ${found.size} credentials could not be revoked; the others are. Deliver again.`,
    { cause: failures[0] },
  )
}
