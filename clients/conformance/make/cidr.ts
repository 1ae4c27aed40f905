import type { Case, Json, Step } from '../case.ts'
import {
  advances,
  answers,
  asksDelta,
  asksSnapshot,
  at,
  delta,
  hour,
  liveKey,
  one,
  polls,
  record,
  snapshot,
  TTL_MS,
  three,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'
import { acme, beta, on } from './suspended.ts'
import { page } from './walks.ts'

/** Networks of keys and tenants: a node refuses a key outside of its networks. */

export const from = 'networks.test.ts'
export const features = ['cidr']
export const net = '192.0.2.0/24'
export const [inside, outside, elsewhere] = ['192.0.2.7', '198.51.100.7', '203.0.113.7']
/** Where `elsewhere` is. */
export const other = '203.0.113.0/24'

/** A tenant with networks. */
export const listed = (tenant_id: string, allowed_cidrs: unknown): Json => ({ tenant_id, allowed_cidrs })
export const listing = (...tenants: readonly unknown[]): Json => ({ features, tenants })
/** Key 1 is of acme, key 2 of beta, and key 3 of acme with networks of its own. */
export const keys = [
  record(1),
  record(2, { tenant_id: beta }),
  record(3, { allowed_cidrs: [other], expires_at: null }),
]

/** The verdict on a key that comes from an address; null: it is not known. */
export const seen = (key: string, ip: string | null, code: string, requires: Json = {}): Step =>
  verifies(key, code, {}, { ...requires, ...(ip !== null && { ip }) })

const first = (...tenants: readonly unknown[]): Step[] => [
  answers(snapshot(keys, listing(...tenants)), asksSnapshot),
  polls('snapshot'),
]

const [none, limited] = ['holds a key with networks', 'holds keys of a tenant with networks, and of another']
export const cidrShared: Readonly<Record<string, readonly Step[]>> = {
  [none]: first(),
  [limited]: first(listed(acme, [net])),
}
/** No tenant has networks. */
export const noneIsLimited: Step = { use: none }
/** Acme may come from `net` alone. */
export const acmeIsLimited: Step = { use: limited }

export const learns = (
  since: number,
  tenants: readonly unknown[],
  changes: readonly unknown[] = [],
  more: Json = {},
  after = 0,
): Step[] => [
  answers(delta(since, since + 1, changes, after, listing(...tenants)), asksDelta(since)),
  polls('delta', more),
]

const snapshotCases: readonly Case[] = [
  {
    name: 'a node asks for networks, with every request',
    from,
    steps: [
      answers(snapshot(keys, listing()), { ...asksSnapshot, features }),
      polls('snapshot'),
      answers(delta(VERSION, VERSION, [], 0, listing()), { ...asksDelta(VERSION), features }),
      polls('unchanged'),
    ],
  },
  {
    name: 'a key may be used in its own networks, and its address must be known',
    from,
    steps: [
      noneIsLimited,
      seen(three, elsewhere, 'valid'),
      seen(three, inside, 'ip_not_allowed'),
      seen(three, null, 'ip_unknown'),
      seen(three, '', 'ip_unknown'),
    ],
  },
  {
    name: 'keys without networks may be used from any address, and none is read',
    from,
    steps: [
      noneIsLimited,
      seen(one, outside, 'valid'),
      seen(one, null, 'valid'),
      seen(two, 'no address', 'valid'),
    ],
  },
  {
    name: 'keys of a tenant have its networks, unless they have their own',
    from,
    steps: [
      acmeIsLimited,
      seen(one, inside, 'valid'),
      seen(one, elsewhere, 'ip_not_allowed'),
      seen(one, null, 'ip_unknown'),
      seen(two, outside, 'valid'),
      seen(two, null, 'valid'),
      seen(three, elsewhere, 'valid'),
      seen(three, inside, 'ip_not_allowed'),
    ],
  },
  {
    name: 'an empty list of a key is any address, whatever its tenant has',
    from,
    steps: [
      answers(snapshot([record(1, { allowed_cidrs: [] }), record(2)], listing(listed(acme, [net])))),
      polls('snapshot'),
      seen(one, outside, 'valid'),
      seen(one, null, 'valid'),
      seen(two, outside, 'ip_not_allowed'),
    ],
  },
  {
    name: 'a listed tenant without networks, or with an empty list, has none',
    from,
    steps: [...first(on(acme), listed(beta, [])), seen(one, null, 'valid'), seen(two, null, 'valid')],
  },
  {
    name: 'a new snapshot replaces networks of keys and tenants',
    from,
    steps: [
      acmeIsLimited,
      answers(
        snapshot([record(1), record(2, { tenant_id: beta }), record(3)], listing(listed(beta, [net])), 0, 8),
        asksDelta(VERSION),
      ),
      polls('snapshot'),
      seen(one, outside, 'valid'),
      seen(two, outside, 'ip_not_allowed'),
      seen(three, outside, 'valid'),
    ],
  },
  {
    name: 'the pages of a walk together list the networks of tenants, and a later page ends none',
    from,
    steps: [
      page([1], 'a', 'first', listing(listed(acme, [net]))),
      page([2, 3], null, { cursor: 'a' }, listing(on(acme), listed(beta, [other]))),
      polls('snapshot'),
      seen(one, inside, 'valid'),
      seen(one, outside, 'ip_not_allowed'),
      seen(three, outside, 'ip_not_allowed'),
      ...learns(VERSION + 1, [on(acme)], [upsert(4, { tenant_id: beta })]),
      seen(one, outside, 'valid'),
      seen(liveKey(4), outside, 'ip_not_allowed'),
    ],
  },
]

const orderCases: readonly Case[] = [
  {
    name: 'networks come after suspended and expired, and before scopes',
    from: 'verify.test.ts',
    steps: [
      answers(
        snapshot([record(1, { expires_at: at(-1) }), record(2), record(3, { tenant_id: beta })], {
          features: ['cidr', 'suspended'],
          tenants: [listed(acme, [net]), { ...listed(beta, [net]), suspended: true }],
        }),
      ),
      polls('snapshot'),
      seen(one, outside, 'expired_key'),
      seen(one, null, 'expired_key'),
      seen(two, outside, 'ip_not_allowed', { scopes: ['admin'] }),
      seen(two, null, 'ip_unknown', { scopes: ['admin'] }),
      seen(two, inside, 'insufficient_scope', { scopes: ['admin'] }),
      seen(two, outside, 'wrong_env', { env: 'test' }),
      seen(three, outside, 'suspended_tenant'),
      seen(liveKey(4), outside, 'unknown_key'),
      advances(TTL_MS),
      seen(two, outside, 'stale'),
    ],
  },
  {
    name: 'a protected route answers 403 outside of the networks, and takes nothing from limits',
    from,
    steps: [
      answers(snapshot([record(1, { rate_limits: [hour] }), record(2)], listing(listed(acme, [net])))),
      polls('snapshot'),
      ...[{ ip: outside, code: 'ip_not_allowed' }, { code: 'ip_unknown' }].map(({ ip, code }) =>
        route(one, ip, { status: 403, code, headers: { 'www-authenticate': null } }),
      ),
      route(two, inside, { status: 200, code: null }),
      route(two, outside, { status: 403, code: 'ip_not_allowed' }),
    ],
  },
]

/** A request of a key to a protected route, with headers that no node believes. */
function route(key: string, ip: string | undefined, gives: Json): Step {
  const headers = [
    ['authorization', `Bearer ${key}`],
    ['x-forwarded-for', inside],
    ['forwarded', `for=${inside}`],
    ['x-real-ip', inside],
  ]
  return { do: { op: 'gate', headers, ...(ip !== undefined && { ip }) }, gives }
}

export const cidr: readonly Case[] = [...snapshotCases, ...orderCases]
