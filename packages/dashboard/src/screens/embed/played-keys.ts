import type { EmbedKey } from '@keyrail/contract/embed'
import type { Env } from '@keyrail/contract/shared'

const dayMs = 86_400_000
const hourMs = 3_600_000

/** A moment as the service writes it. */
export const inHours = (hours: number) => new Date(Date.now() + hours * hourMs).toISOString()

export const playedScopes = ['orders:read', 'orders:write']

/** What a key is made with. */
export interface Wanted {
  readonly name?: string | undefined
  readonly scopes?: readonly string[]
}

/** Numbers the keys of one played service. They open nothing. */
export function createKeyMaker(env: Env) {
  let made = 0
  return ({ name, scopes = [] }: Wanted, ageDays = 0, more: Partial<EmbedKey> = {}): EmbedKey => {
    made += 1
    const at = inHours(-24 * ageDays)
    return {
      object: 'api_key',
      id: `demo-${made}`,
      name: name ?? null,
      display_prefix: `kr_${env}_Demo${made}`,
      scopes: [...scopes],
      rate_limits: null,
      allowed_cidrs: null,
      expires_at: null,
      revoked_at: null,
      revoked_reason: null,
      disabled_at: null,
      disabled_reason: null,
      disabled_by: null,
      rotated_from: null,
      rotated_to: null,
      last_used_at: null,
      updated_at: at,
      created_at: at,
      ...more,
    }
  }
}

/** A key of each kind, newest first. */
export function someKeys(make: ReturnType<typeof createKeyMaker>): EmbedKey[] {
  const hourly = { last_used_at: inHours(-1) }
  const successor = make({ name: 'Build server', scopes: ['orders:read'] }, 1, hourly)
  const replaced = { ...hourly, expires_at: inHours(20), rotated_to: successor.id }
  return [
    successor,
    make({ name: 'Spring campaign' }, 5, { expires_at: inHours(9 * 24) }),
    make({ name: 'Build server', scopes: ['orders:read'] }, 40, replaced),
    make({ name: 'Accounting', scopes: playedScopes }, 90, { last_used_at: inHours(-30) }),
    make({ name: 'Old shop' }, 100, { disabled_at: inHours(-3), disabled_by: 'tenant' }),
    make({ name: 'Winter trial' }, 120, { expires_at: inHours(-12 * 24) }),
  ]
}

/** Requests of a used key by day; none of another. */
export const usageOf = ({ last_used_at }: EmbedKey, days: number) =>
  Array.from({ length: days }, (_, at) => ({
    date: new Date(Date.now() - (days - 1 - at) * dayMs).toISOString().slice(0, 10),
    request_count: last_used_at === null ? 0 : Math.round(300 + 200 * Math.sin(at / 2) + 9 * at),
  }))
