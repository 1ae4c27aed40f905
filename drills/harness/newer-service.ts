import type { Seeded } from '../../packages/server/test/seeded.ts'

/** A record of the feed, or a body of it. */
type Json = Record<string, unknown>

/** A rule with an algorithm that this release does not know, and without a window. */
const newerRule = { id: 'newer', limit: 7, algorithm: 'token_bucket', refill_per_s: 2, scope: 'key' }
const isNewerRule = ({ id }: { id: string }) => id === newerRule.id

/** Members that say what no client of this release can judge. */
const unreadable: readonly Json[] = [
  { env: 'staging' },
  { scopes: [{ name: 'read', until: 'noon' }] },
  { expires_at: { idle_ms: 60_000 } },
  { rate_limits: { all_of: [newerRule] } },
  { tenant_id: null },
]

/** Why a key has ended, in a word that this release does not know. */
const newerCause = 'quarantined'

/** What a newer service says beside what is known; every body and every record has one of them. */
const fields: readonly Json[] = [
  { region: 'eu' },
  { network: { cidrs: ['10.0.0.0/8'] } },
  { seals: [1, null] },
]

/**
 * A service that knows one field, one algorithm, one environment, one cause, one feature and one kind of change more: its
 * real answers in newer words, and which keys a client can then read.
 */
export class NewerService {
  /** Keys last sent in a form that cannot be read. */
  readonly unread = new Set<string>()
  /** Keys that ended for a cause that this release does not know: refused, for any reason. */
  readonly endedOddly = new Set<string>()
  /** Keys last sent with a rule of the unknown algorithm. */
  readonly ruled = new Set<string>()
  /** Everything uses words that this release knows, except for extra fields. */
  isKnown = false
  readonly #random: Seeded
  readonly #count: (name: string) => void
  #bodies: Json[] = []

  constructor(random: Seeded, count: (name: string) => void) {
    this.#random = random
    this.#count = count
  }

  /** An answer on its way. */
  readonly change = (text: string): string => {
    const body: Json = JSON.parse(text)
    const { keys, changes, tenants, features } = body as Record<string, Json[] | undefined>
    const answer: Json = {
      ...body,
      ...this.#field(),
      ...(Array.isArray(features) && { features: [...features, 'cidr'] }),
      ...(tenants && { tenants: tenants.map(tenant => ({ ...tenant, ...this.#field() })) }),
      ...(keys && { keys: keys.map(key => this.#record(key)) }),
      ...(changes && { changes: changes.map(each => this.#changed(each)) }),
    }
    this.#bodies.push(answer)
    return JSON.stringify(answer)
  }

  /** What the client has accepted with the last poll. @returns how many keys it could not read. */
  taken(): number {
    const pages = this.#bodies.filter(({ keys }) => keys !== undefined)
    // If more pages followed, no change was accepted.
    const records = (pages.length > 0 ? pages : this.#bodies).flatMap(
      ({ keys, changes }) => (keys ?? changes) as Json[],
    )
    this.#bodies = []
    if (pages.length > 0) {
      this.unread.clear()
      this.ruled.clear()
    }
    let unread = 0
    for (const { key_id, change, cause, rate_limits, is_unreadable } of records) {
      const id = String(key_id)
      this.unread.delete(id)
      this.ruled.delete(id)
      this.endedOddly.delete(id)
      if (cause === newerCause) this.endedOddly.add(id)
      if (change === 'tombstone') continue
      if (is_unreadable) this.unread.add(id)
      if (is_unreadable) unread += 1
      else if (Array.isArray(rate_limits) && rate_limits.some(isNewerRule)) this.ruled.add(id)
    }
    return unread
  }

  #field = (): Json => this.#random.pick(fields)

  #record(record: Json): Json {
    const known = { ...record, ...this.#field() }
    const drawn = this.isKnown ? 'known' : this.#random.weighted({ known: 6, algorithm: 2, unreadable: 2 })
    if (drawn === 'known') return known
    this.#count(`sent: a key with ${drawn === 'algorithm' ? 'an unknown algorithm' : 'an unreadable member'}`)
    if (drawn === 'unreadable') {
      const member = this.#random.pick(unreadable)
      if ('env' in member) this.#count('sent: a key of an unknown environment')
      return { ...known, ...member, is_unreadable: true }
    }
    return { ...known, rate_limits: [...((record.rate_limits ?? []) as Json[]), newerRule] }
  }

  #changed(record: Json): Json {
    if (!this.isKnown && this.#random.integer(10) === 0) {
      this.#count('sent: a change of an unknown kind')
      return { ...record, change: 'moved' }
    }
    if (record.change === 'upsert') return this.#record(record)
    const gone = { ...record, ...this.#field() }
    if (this.isKnown || this.#random.integer(2) === 0) return gone
    this.#count('sent: the end of a key with an unknown cause')
    return { ...gone, cause: newerCause }
  }
}

/** A key as a store holds it, in its compared line, without the rule of the unknown algorithm. */
export function withoutNewerRule(line: string): { line: string; hasRule: boolean } {
  const [, record = line, rest = ''] = /^(.*\])(, not found.*)?$/.exec(line) ?? []
  const [tenant, env, scopes, limits, end] = JSON.parse(record)
  const { id, limit, algorithm, scope } = newerRule
  const rule = JSON.stringify([id, limit, null, algorithm, scope])
  const known = limits.filter((each: unknown) => JSON.stringify(each) !== rule)
  return {
    line: JSON.stringify([tenant, env, scopes, known, end]) + rest,
    hasRule: known.length < limits.length,
  }
}
