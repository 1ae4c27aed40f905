import type { LeakFeedback, LeakPlace } from '@keyrail/contract/webhook'
import type { Deps } from '../deps.ts'
import { unauthenticated } from '../gate/authenticate.ts'
import type { Signature } from '../gate/signature.ts'
import { displayPrefix } from '../platform/crypto/token.ts'
import { deadlineMs } from '../platform/db/deadline.ts'
import { bodyLimit } from '../platform/http/body.ts'
import { parseOddJson } from '../platform/http/json.ts'
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
  const reports = readReports(await readBody(deps, bytes))
  const issued = new Set<string>()
  const failures: unknown[] = []
  const asked = placesOf(reports)
  for (let i = 0; i < asked.length; i += foundAtOnce) {
    const some = asked.slice(i, i + foundAtOnce)
    const found = await findAll(deps, some, until, failures)
    // Before more are asked about: what is known to have leaked waits for nothing.
    await revokeAll(deps, found, until, failures)
    for (const { token } of found) issued.add(token)
  }
  if (failures.length > 0) {
    throw new Refusal(
      'unavailable',
      `${failures.length} of ${asked.length} tokens could not be looked up or revoked; the others are. Deliver again.`,
      { cause: failures[0] },
    )
  }
  return reports.map(({ token, digest, type }) => ({
    token_hash: digest.toString('hex'),
    token_type: type,
    label: issued.has(token) ? 'true_positive' : 'false_positive',
  }))
}

/** What comes in one piece is read at once. Hundreds of reports are not, for nobody may wait for them. */
const readBody = ({ jsonThread }: Deps, bytes: Buffer) =>
  bytes.length <= bodyLimit ? parseOddJson(bytes) : jsonThread.parseOdd(bytes, 'codehost')

/** A token to be looked up, and where it was found. */
type Asked = Pick<Report, 'token' | 'digest'> & { readonly place: LeakPlace }
type Found = Asked & { readonly leaked: Leaked }

/**
 * Each token that has the form of a credential, once: nothing is asked about any other. The first entry that names it
 * says where it was found.
 */
function placesOf(reports: readonly Report[]): Asked[] {
  const asked = new Map<string, Asked>()
  for (const { token, digest, place } of reports)
    if (place !== null && !asked.has(token)) asked.set(token, { token, digest, place })
  return [...asked.values()]
}

/**
 * What was issued here.
 * @param failures gets why one or more could not be looked up; all others are.
 */
async function findAll(
  deps: Deps,
  asked: readonly Asked[],
  until: number,
  failures: unknown[],
): Promise<Found[]> {
  const answers = await Promise.allSettled(
    asked.map(async ({ digest }) => {
      const now = performance.now()
      if (now >= until) throw new Refusal('unavailable')
      return await deps.findLeaked.run(digest, Math.min(until, now + deadlineMs))
    }),
  )
  return asked.flatMap((one, i) => {
    const answer = answers[i]
    if (answer?.status === 'fulfilled') return answer.value === null ? [] : [{ ...one, leaked: answer.value }]
    failures.push(answer?.reason)
    return []
  })
}

/**
 * Ends what was found, several at once.
 * @param failures gets why one or more could not be ended, after all others have been.
 */
async function revokeAll(
  deps: Deps,
  found: readonly Found[],
  until: number,
  failures: unknown[],
): Promise<void> {
  const left = found.values()
  const work = async () => {
    for (const { token, place, leaked } of left) {
      try {
        const own = deps.db.until(Math.min(until, performance.now() + deadlineMs))
        await revokeLeaked(deps, own, { leaked, displayPrefix: displayPrefix(token), place })
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}
