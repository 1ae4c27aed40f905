import type { ExplainedRefusal, Reason } from '@keyrail/contract/vendor/explain'
import type { KeyFacts } from '../keys/facts.ts'
import { lifetimeEnd } from '../lifecycle/lifetime.ts'
import { outlives } from '../lifecycle/overlap.ts'
import { envOfKey, hasFormOfImported, secretKeyPrefix } from '../platform/crypto/token.ts'
import { iso, millisOrNull } from '../platform/time.ts'
import type { Judged, Limit } from './judged.ts'
import { networkReasons } from './network-reasons.ts'

const reason = (code: ExplainedRefusal, applies: boolean, detail: string): Reason => ({
  code,
  applies,
  detail,
})

const malformed = reason(
  'malformed_key',
  true,
  'The text is no key: its form or its checksum is wrong. A part may be missing, or there twice.',
)
const ofAnyForm = reason(
  'malformed_key',
  false,
  'Keys were imported, so a key may be any text of 1 to 512 visible ASCII characters.',
)

/** The first reason for a text that is a key: servers look it up only by its form, or as one from another system. */
export function formOf(text: string): Reason {
  if (envOfKey(text) !== null) return wellFormed
  return hasFormOfImported(text) ? ofAnyForm : malformed
}

/**
 * A text that is no key of this caller. Every text is answered in the same way, whoever has such a key.
 * @param acceptsAny whether a project that the caller sees has keys of any form
 */
export function unknownReasons(text: string, acceptsAny: boolean): Reason[] {
  if (envOfKey(text) === null)
    return acceptsAny && hasFormOfImported(text)
      ? [ofAnyForm, reason('unknown_key', true, 'No such key is in the workspace, or you cannot see it.')]
      : [malformed]
  const why = text.startsWith(secretKeyPrefix)
    ? 'The text is a secret key, which your backend uses with this service. It is no key of a customer.'
    : 'No such key is in the workspace, or you cannot see it.'
  return [wellFormed, reason('unknown_key', true, why)]
}

const wellFormed = reason('malformed_key', false, 'The form and the checksum of the text are those of a key.')

/** Each reason for a refusal, in the order in which nodes judge. */
export function reasonsOf(judged: Judged): Reason[] {
  const { facts, asOf } = judged
  return [
    existence(judged),
    revocation(facts, asOf),
    pause(facts, asOf),
    suspension(facts, asOf),
    ...ends(facts, asOf ?? facts.now),
    ...networkReasons(judged),
    scope(judged),
    limit(judged),
  ]
}

/** Keys are not found in another project or environment, and not before they are made. */
function existence({ facts, textEnv, asOf }: Judged): Reason {
  const { project_name, tenant_external_id, env, created_at, imported_at } = facts
  if (asOf !== null && imported_at !== null && imported_at > asOf)
    return reason('unknown_key', true, `The key was imported later, at ${iso(imported_at)}.`)
  if (asOf !== null && created_at > asOf)
    return reason('unknown_key', true, `The key was made later, at ${iso(created_at)}.`)
  if (textEnv !== null && textEnv !== env)
    return reason(
      'unknown_key',
      true,
      `The text names ${textEnv}, where servers look for it, and its digest was imported as a ${env} key.`,
    )
  return reason(
    'unknown_key',
    false,
    `A ${env} key of the project "${project_name}", issued to "${tenant_external_id}". Servers of other projects do not know it.`,
  )
}

const byParent: Readonly<Record<string, string>> = {
  tenant_deleted: 'because its tenant was deleted',
  project_deleted: 'because its project was deleted',
}

function revocation({ revoked_at, revoked_reason }: KeyFacts, asOf: Date | null): Reason {
  if (revoked_at === null) return reason('revoked_key', false, 'The key is not revoked.')
  const why =
    revoked_reason === null ? '' : (byParent[revoked_reason] ?? `with the reason "${revoked_reason}"`)
  const when = `at ${iso(revoked_at)}${why === '' ? '' : `, ${why}`}.`
  return asOf !== null && revoked_at > asOf
    ? reason('revoked_key', false, `The key was revoked later, ${when}`)
    : reason('revoked_key', true, `The key was revoked ${when}`)
}

function pause({ disabled_at, disabled_reason, disabled_by }: KeyFacts, asOf: Date | null): Reason {
  if (disabled_at === null) return reason('disabled_key', false, 'The key is not paused.')
  const who = disabled_by === 'tenant' ? 'its tenant' : 'the vendor'
  const when = `at ${iso(disabled_at)} by ${who}${disabled_reason === null ? '' : `, with the reason "${disabled_reason}"`}.`
  return asOf !== null && disabled_at > asOf
    ? reason('disabled_key', false, `The key was paused later, ${when}`)
    : reason('disabled_key', true, `The key was paused ${when}`)
}

function suspension({ suspended_at, suspended_reason }: KeyFacts, asOf: Date | null): Reason {
  if (suspended_at === null) return reason('suspended_tenant', false, 'The tenant is not suspended.')
  const why = suspended_reason === null ? '' : `, with the reason "${suspended_reason}"`
  const when = `at ${iso(suspended_at)}${why}, and all of its keys with it.`
  return asOf !== null && suspended_at > asOf
    ? reason('suspended_tenant', false, `The tenant was suspended later, ${when}`)
    : reason('suspended_tenant', true, `The tenant was suspended ${when}`)
}

/** The one that comes first is the verdict. */
function ends(facts: KeyFacts, at: Date): Reason[] {
  const { created_at, expires_at, max_key_lifetime_days: days } = facts
  const [expires, agesOut] = [expiry(facts, at), age(facts, at)]
  return outlives(millisOrNull(expires_at), lifetimeEnd(created_at.getTime(), days))
    ? [agesOut, expires]
    : [expires, agesOut]
}

function expiry({ expires_at, overlap_ends_at, rotated_to }: KeyFacts, at: Date): Reason {
  if (expires_at === null) return reason('expired_key', false, 'The key never expires.')
  const isOverlap = overlap_ends_at !== null && rotated_to !== null
  const why = isOverlap ? `, because the key ${rotated_to} replaces it` : ''
  return expires_at <= at
    ? reason('expired_key', true, `The key expired at ${iso(expires_at)}${why}.`)
    : reason('expired_key', false, `The key expires at ${iso(expires_at)}${why}.`)
}

function age(
  { created_at, max_key_lifetime_days: days, lifetime, project_name }: KeyFacts,
  at: Date,
): Reason {
  const end = lifetimeEnd(created_at.getTime(), days)
  if (end === null) return reason('too_old', false, 'The project accepts keys of any age.')
  const rule = `The project "${project_name}" allows ${days} day${days === 1 ? '' : 's'}`
  const until = `${rule}, and so this key until ${iso(new Date(end))}`
  if (end > at.getTime()) return reason('too_old', false, `${until}.`)
  return lifetime === 'refuse'
    ? reason('too_old', true, `${until}. It refuses older keys.`)
    : reason('too_old', false, `${until}. It reports older keys, and accepts them.`)
}

function scope({ facts, scopes }: Judged): Reason {
  const held = facts.scopes.length === 0 ? 'It has no scopes.' : `It has ${quote(facts.scopes)}.`
  if (scopes.length === 0) return reason('insufficient_scope', false, `No scope is asked for. ${held}`)
  const missing = scopes.filter(one => !facts.scopes.includes(one))
  return missing.length === 0
    ? reason('insufficient_scope', false, `The key has every scope that is asked for: ${quote(scopes)}.`)
    : reason('insufficient_scope', true, `The key lacks ${quote(missing)}. ${held}`)
}

function limit({ limits, asOf }: Judged): Reason {
  if (asOf !== null)
    return reason('rate_limited', false, 'Limits are those of now, so another time has none.')
  if (limits === null)
    return reason('rate_limited', false, 'The counters of the limits could not be read. Try again.')
  if (limits.length === 0) return reason('rate_limited', false, 'The key has no limits.')
  const used = limits.filter(({ remaining }) => remaining < 1)
  return used.length === 0
    ? reason('rate_limited', false, `The limits have space: ${limits.map(left).join('; ')}.`)
    : reason('rate_limited', true, `A limit is used up: ${used.map(left).join('; ')}.`)
}

const left = ({ id, limit, remaining, reset_ms, scope }: Limit) =>
  `${remaining} of ${limit} left in "${id}"${scope === 'tenant' ? ', which all keys of the tenant share' : ''}, whose window ends in ${Math.ceil(reset_ms / 1_000)} s`

const quote = (texts: readonly string[]) => texts.map(text => `"${text}"`).join(', ')
