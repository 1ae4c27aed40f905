import { hygieneDays, type KeyHygiene } from '@keyrail/contract/vendor/keys'
import { isActiveSql } from '../lifecycle/active.ts'
import { firstIdAtSql } from '../lifecycle/lifetime.ts'
import { invalidField } from '../platform/refusal.ts'

/** What keys should be looked after for, as SQL conditions that an index answers. */
export interface Hygiene {
  readonly hygiene: KeyHygiene
  /** Null: the number of the contract. */
  readonly days: number | null
  readonly projectId: string | null
}

/**
 * @param at the path of the fields.
 * @throws {Refusal} naming the field that does not go with the others
 */
export function readHygiene(
  { hygiene, days, project_id }: { hygiene?: KeyHygiene; days?: number; project_id?: string },
  at = '',
): Hygiene | null {
  if (hygiene === undefined) {
    if (days !== undefined) throw invalidField(`${at}days`, 'goes with hygiene')
    return null
  }
  if (days !== undefined && !(hygiene in hygieneDays))
    throw invalidField(`${at}days`, `does not go with ${hygiene}`)
  if (hygiene === 'too_old' && project_id === undefined)
    throw invalidField(`${at}project_id`, 'is required with too_old, because each project has its own rule')
  return hygieneOf({ hygiene, days, project_id })
}

/** The same fields once they were read: those of a running operation have the days that the project allowed when it began. */
export const hygieneOf = ({
  hygiene,
  days = null,
  project_id = null,
}: {
  hygiene?: KeyHygiene | undefined
  days?: number | null | undefined
  project_id?: string | null | undefined
}): Hygiene | null => (hygiene === undefined ? null : { hygiene, days, projectId: project_id })

/**
 * @param mark adds a parameter and returns its name
 * @param now the time of judging. Postgres knows the value of the clock when it plans, so that it chooses an index by how many keys
 *   there are.
 */
export function hygieneSql(
  { hygiene, days, projectId }: Hygiene,
  mark: (value: unknown) => string,
  now = 'service_now()',
): string {
  const working = `disabled_at is null and ${isActiveSql('api_keys', now)}`
  const span = (of: keyof typeof hygieneDays) =>
    `make_interval(days => ${mark(days ?? hygieneDays[of])}::int)`
  switch (hygiene) {
    case 'never_expires':
      return 'revoked_at is null and disabled_at is null and expires_at is null'
    case 'expiring':
      return `revoked_at is null and disabled_at is null and expires_at > ${now}
        and expires_at <= ${now} + ${span('expiring')}`
    case 'unused':
      // A key that was never used is idle since it was made.
      return `${working} and last_used_at is null and idle_since < ${now} - ${span('unused')}`
    case 'idle': {
      // The index has when a key was used at the earliest, up to a week before its last use.
      const since = `${now} - ${span('idle')}`
      return `${working} and idle_since < ${since} and coalesce(last_used_at, idle_since) < ${since}`
    }
    case 'too_old': {
      // Ids begin with the time at which a key was made, so the index of ids has the oldest first.
      const allowed = days === null ? 'r.max_key_lifetime_days' : `${mark(days)}::int`
      const before = `(select ${now} - make_interval(hours => 24 * ${allowed})
        from projects r where r.workspace_id = $1 and r.id = ${mark(projectId)})`
      return `not is_revoked and ${working} and id < (select ${firstIdAtSql(before)}) and created_at < ${before}`
    }
  }
}
