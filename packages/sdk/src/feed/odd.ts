import { type KeyrailError, lasting, passing } from '../runtime/errors.ts'
import type { ListedTenant } from './listed.ts'
import type { Unreadable } from './record.ts'

/** Errors about answers that were applied nevertheless. They show ids, and nothing else from the service. */

/** One error about keys, one for each member of tenants, and one about keys from elsewhere. */
export function unreadableParts(
  keys: readonly Unreadable[],
  listed: readonly ListedTenant[] = [],
  isImportedOdd = false,
): KeyrailError[] {
  return [
    ...(keys.length > 0 ? [unreadableKeys(keys)] : []),
    ...(['suspended', 'allowed_cidrs'] as const).flatMap(member => {
      const tenants = listed.filter(({ unreadable }) => unreadable === member)
      return tenants.length > 0 ? [unreadableTenants(tenants, member)] : []
    }),
    ...(isImportedOdd ? [unreadableImported()] : []),
  ]
}

const READABLE = 'A newer version of @keyrail/sdk may be able to read it'

/** @param tenants at least one */
function unreadableTenants(
  tenants: readonly ListedTenant[],
  member: 'suspended' | 'allowed_cidrs',
): KeyrailError {
  const which = shown(tenants[0]?.tenantId)
  const isOne = tenants.length === 1
  const so =
    member === 'suspended'
      ? ['counts as suspended', 'count as suspended']
      : ['has keys that are refused from everywhere', 'have keys that are refused from everywhere']
  const problem = isOne
    ? `The tenant ${which} ${so[0]}`
    : `${tenants.length} tenants ${so[1]}, such as ${which}`
  return lasting('unreadable_key', `${problem}: ${member} cannot be read. ${READABLE}`)
}

/** Whether the project takes keys from elsewhere cannot be read. */
const unreadableImported = (): KeyrailError =>
  lasting(
    'unreadable_key',
    `accepts_imported cannot be read, so keys from elsewhere are refused as malformed. ${READABLE}`,
  )

const shown = (id = ''): string => (/^[\w-]{1,64}$/.test(id) ? id : 'one without an id')

/** @param keys at least one */
function unreadableKeys(keys: readonly Unreadable[]): KeyrailError {
  const [{ keyId, why } = { keyId: '', why: '' }] = keys
  const which = shown(keyId)
  const problem =
    keys.length === 1
      ? `The API key ${which} cannot be read and is refused: ${why}`
      : `${keys.length} API keys cannot be read and are refused, such as ${which}: ${why}`
  return lasting('unreadable_key', `${problem}. ${READABLE}`)
}

/** An answer from a cache. It confirms keys only as of the time when the service gave it. */
export const cachedAnswer = (lateMs: number, hint = ''): KeyrailError =>
  passing(
    'cached_answer',
    `The answer is old, as from a cache: the service generated it ${Math.round(lateMs / 1_000)} s before it was asked for${hint}. Do not cache answers between this node and the service`,
  )

export const dateBack = (byMs: number): KeyrailError =>
  passing(
    'date_back',
    `The time of the service's answers went back by ${Math.round(byMs / 1_000)} s: a cache returned an old answer, or a clock was set back`,
  )

/** @param goesOn whether the walk goes on; false: the node gave the walk up */
export function slowSnapshot(pages: number, tookMs: number, goesOn: boolean): KeyrailError {
  const so = `A snapshot has taken ${Math.round(tookMs / 1_000)} s and ${pages} pages so far`
  const then = goesOn
    ? ' and goes on; meanwhile the keys held go stale'
    : ', which is too long, and was given up: the keys would be stale before they are served'
  return passing('slow_snapshot', so + then)
}

export const versionBack = (from: number, to: number): KeyrailError =>
  passing(
    'version_back',
    `The policy version went back from ${from} to ${to}: the service's database was restored or failed over, or a cache returned an old answer`,
  )
