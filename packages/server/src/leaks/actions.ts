import type { LeakFeedback, LeakPlace } from '@keyrail/contract/leaks'
import { unauthenticated } from '../gate/authenticate.ts'
import type { Signature } from '../gate/signature.ts'
import { Deadline } from '../platform/concurrency/deadline.ts'
import { displayPrefix } from '../platform/crypto/token.ts'
import type { Db } from '../platform/db/db.ts'
import { bodyLimit } from '../platform/http/body/body.ts'
import { parseOddJson } from '../platform/http/body/json.ts'
import { Refusal } from '../platform/refusal.ts'
import { workAtOnce } from './at-once.ts'
import type { Leaked } from './find-leaked.ts'
import type { LeakNeeds } from './needs.ts'
import { ReportLetters } from './report-letters.ts'
import { type Report, readReports } from './reports.ts'
import { revokeLeaked } from './revoke.ts'

/** GitHub waits 30 s for an answer. */
const allMs = 25_000
/** Tokens that are looked up together, which is the batch size of the lane. */
const foundAtOnce = 500

/**
 * Revokes every credential that a code host reports. Until the signature is verified, nothing is parsed, no token is
 * hashed and no connection is used. Each token is handled separately: a redelivery retries what failed and skips what
 * is already revoked.
 */
export async function receiveLeaks(
  deps: LeakNeeds,
  db: Db,
  bytes: Buffer,
  signature: Signature,
): Promise<LeakFeedback> {
  const deadline = new Deadline(allMs)
  if (!(await deps.codehostKeys.haveSigned(bytes, signature))) throw unauthenticated()
  const reports = readReports(await readBody(deps, bytes))
  const issued = new Set<string>()
  const failures: unknown[] = []
  const asked = placesOf(reports)
  const letters = new ReportLetters(deps)
  for (let i = 0; i < asked.length; i += foundAtOnce) {
    const some = asked.slice(i, i + foundAtOnce)
    const found = await findAll(deps, some, deadline, failures)
    // Found credentials are revoked before more tokens are looked up: a known leak must not wait.
    await revokeAll(deps, db, found, letters, deadline, failures)
    for (const { token } of found) issued.add(token)
  }
  await letters.queue(db, deadline)
  if (failures.length > 0) {
    throw new Refusal(
      'unavailable',
      `${failures.length} of ${asked.length} tokens could not be looked up or revoked. All others are done. Deliver the report again.`,
      { cause: failures[0] },
    )
  }
  return reports.map(({ token, digest, type }) => ({
    token_hash: digest.toString('hex'),
    token_type: type,
    label: issued.has(token) ? 'true_positive' : 'false_positive',
  }))
}

/** A small body is parsed at once. One with hundreds of reports is parsed in a thread, because it would block the event loop. */
const readBody = ({ jsonThread }: LeakNeeds, bytes: Buffer) =>
  bytes.length <= bodyLimit ? parseOddJson(bytes) : jsonThread.parseOdd(bytes, 'codehost')

/** A token to look up, and where it was found. */
type Asked = Pick<Report, 'token' | 'digest'> & { readonly place: LeakPlace }
type Found = Asked & { readonly leaked: Leaked }

/**
 * Each token in the format of a credential, once; no other token is looked up. The place is that of the first entry with the
 * token.
 */
function placesOf(reports: readonly Report[]): Asked[] {
  const asked = new Map<string, Asked>()
  for (const { token, digest, place } of reports)
    if (place !== null && !asked.has(token)) asked.set(token, { token, digest, place })
  return [...asked.values()]
}

/**
 * Looks up which tokens were issued here.
 * @param failures receives an error for each group of tokens that could not be looked up; later groups are still looked up.
 */
async function findAll(
  deps: LeakNeeds,
  asked: readonly Asked[],
  deadline: Deadline,
  failures: unknown[],
): Promise<Found[]> {
  const answers = await Promise.allSettled(
    asked.map(async ({ digest }) => {
      if (deadline.leftMs() <= 0) throw new Refusal('unavailable')
      return await deps.findLeaked.run(digest, deadline.earlier(deps.budgets.requestMs))
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
 * Revokes the found credentials, several at once. Those of one project would wait for each other's lock with a connection each,
 * so they are revoked one after the other, in the order of the report.
 * @param failures receives an error for each token that could not be revoked; the next ones still are.
 */
async function revokeAll(
  deps: LeakNeeds,
  db: Db,
  found: readonly Found[],
  letters: ReportLetters,
  deadline: Deadline,
  failures: unknown[],
): Promise<void> {
  const rows = Map.groupBy(found, ({ leaked }) => `${leaked.workspaceId} ${leaked.projectId}`).values()
  await workAtOnce(rows, async row => {
    for (const { token, place, leaked } of row) {
      try {
        const own = db.by(deadline.earlier(deps.budgets.requestMs))
        await revokeLeaked(deps, own, { leaked, displayPrefix: displayPrefix(token), place }, letters)
      } catch (error) {
        failures.push(error)
      }
    }
  })
}
