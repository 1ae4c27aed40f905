import { id } from '../../../packages/sdk/test/keys.ts'
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
  tombstone,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'
import { page } from './walks.ts'

/** Suspended tenants: their keys are in the feed, and a node refuses them until the tenant is resumed. */

export const from = 'sync-suspended.test.ts'
export const features = ['suspended']
/** Keys 1 and 3 are of acme, key 2 is of beta. */
export const [acme, beta] = [id(0xa000), id(0xa001)]
export const keys = [record(1), record(2, { tenant_id: beta }), record(3)]

export const off = (tenant_id: string, suspended: unknown = true): Json => ({ tenant_id, suspended })
export const on = (tenant_id: string): Json => ({ tenant_id })
export const listing = (...tenants: readonly unknown[]): Json => ({ features, tenants })

const first = (...tenants: readonly unknown[]): Step[] => [
  answers(snapshot(keys, listing(...tenants)), asksSnapshot),
  polls('snapshot'),
]
const [none, acmeOff] = ['holds keys of two tenants', 'holds keys of a suspended tenant, and of another']
export const suspendedShared: Readonly<Record<string, readonly Step[]>> = {
  [none]: first(),
  [acmeOff]: first(off(acme)),
}
/** Of a first snapshot with three keys no tenant is suspended, or acme. */
export const noneIsOff: Step = { use: none }
export const acmeIsOff: Step = { use: acmeOff }

/** The next delta, with these tenants, and what else the poll says. */
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
export const codes = (...all: readonly string[]): Step[] =>
  all.map((code, number) => verifies([one, two, three][number], code))

const snapshotCases: readonly Case[] = [
  {
    name: 'a node asks for suspended tenants, with every request',
    from,
    steps: [
      answers(snapshot(keys, listing()), { ...asksSnapshot, features }),
      polls('snapshot'),
      answers(delta(VERSION, VERSION, [], 0, listing()), { ...asksDelta(VERSION), features }),
      polls('unchanged'),
    ],
  },
  {
    name: 'a snapshot lists a suspended tenant: all its keys are refused, and no other',
    from,
    steps: [acmeIsOff, ...codes('suspended_tenant', 'valid', 'suspended_tenant')],
  },
  {
    name: 'a snapshot lists tenants without suspended, or with false: their keys are valid',
    from,
    steps: [...first(on(acme), off(beta, false)), ...codes('valid', 'valid', 'valid')],
  },
  {
    name: 'a new snapshot replaces the suspended tenants',
    from,
    steps: [
      acmeIsOff,
      answers(snapshot(keys, listing(off(beta)), 0, VERSION + 1), asksDelta(VERSION)),
      polls('snapshot'),
      ...codes('valid', 'suspended_tenant', 'valid'),
    ],
  },
  {
    name: 'the pages of a walk together list the suspended tenants',
    from,
    steps: [
      page([1], 'a', 'first', listing(off(acme))),
      page([2, 3], null, { cursor: 'a' }, listing(off(id(0xa002)))),
      polls('snapshot'),
      ...codes('suspended_tenant', 'suspended_tenant', 'suspended_tenant'),
    ],
  },
  {
    name: 'a later page resumes no tenant: the delta after the walk does',
    from,
    steps: [
      page([1], 'a', 'first', listing(off(acme))),
      page([2, 3], null, { cursor: 'a' }, listing(on(acme))),
      polls('snapshot'),
      ...codes('suspended_tenant', 'suspended_tenant', 'suspended_tenant'),
      ...learns(VERSION + 1, [on(acme)]),
      ...codes('valid', 'valid', 'valid'),
    ],
  },
  {
    name: 'a tenant that is suspended within a walk is known after the delta that follows',
    from,
    steps: [
      page([1], 'a', 'first', listing()),
      page([2, 3], null, { cursor: 'a' }, listing()),
      polls('snapshot'),
      ...codes('valid', 'valid', 'valid'),
      ...learns(VERSION + 1, [off(acme)]),
      ...codes('suspended_tenant', 'suspended_tenant', 'suspended_tenant'),
    ],
  },
]

const deltaCases: readonly Case[] = [
  {
    name: 'a delta suspends a tenant, and another resumes it',
    from,
    steps: [
      noneIsOff,
      ...codes('valid', 'valid', 'valid'),
      ...learns(VERSION, [off(acme)]),
      ...codes('suspended_tenant', 'valid', 'suspended_tenant'),
      ...learns(VERSION + 1, [on(acme)]),
      ...codes('valid', 'valid', 'valid'),
    ],
  },
  {
    name: 'a delta with false resumes a tenant',
    from,
    steps: [acmeIsOff, ...learns(VERSION, [off(acme, false)]), ...codes('valid', 'valid', 'valid')],
  },
  {
    name: 'a delta changes the tenants that it lists, and no other',
    from,
    steps: [
      acmeIsOff,
      ...learns(VERSION, [off(beta)]),
      ...codes('suspended_tenant', 'suspended_tenant', 'suspended_tenant'),
      ...learns(VERSION + 1, [on(acme)], [tombstone(3)]),
      ...codes('valid', 'suspended_tenant', 'revoked_key'),
    ],
  },
  {
    name: 'a key that is added to a suspended tenant is refused, also where its tenant is not listed',
    from,
    steps: [
      acmeIsOff,
      ...learns(VERSION, [off(acme)], [upsert(4)]),
      ...learns(VERSION + 1, [], [upsert(5)]),
      verifies(liveKey(4), 'suspended_tenant'),
      verifies(liveKey(5), 'suspended_tenant'),
    ],
  },
  {
    name: 'a tenant without a key is suspended too, for the keys that come later',
    from,
    steps: [
      ...first(off(id(0xa002))),
      ...learns(VERSION, [off(id(0xa003))]),
      ...learns(
        VERSION + 1,
        [],
        [upsert(4, { tenant_id: id(0xa002) }), upsert(5, { tenant_id: id(0xa003) })],
      ),
      verifies(liveKey(4), 'suspended_tenant'),
      verifies(liveKey(5), 'suspended_tenant'),
    ],
  },
  {
    name: 'a tenant whose last key goes and comes back is still suspended',
    from,
    steps: [
      ...first(off(beta)),
      ...learns(VERSION, [], [tombstone(2)]),
      ...learns(VERSION + 1, [], [upsert(2, { tenant_id: beta })]),
      ...codes('valid', 'suspended_tenant', 'valid'),
    ],
  },
  {
    name: 'a deleted project has no suspended tenants, and a restored one lists them again',
    from,
    steps: [
      acmeIsOff,
      answers(delta(VERSION, VERSION + 1, [], 0, { ...listing(), project_deleted: true })),
      polls('delta'),
      ...codes('revoked_key', 'revoked_key', 'revoked_key'),
      ...learns(VERSION + 1, [], [upsert(1)]),
      ...codes('valid', 'revoked_key'),
    ],
  },
  {
    name: 'many tenants are suspended and resumed at once',
    from,
    steps: [
      acmeIsOff,
      ...learns(
        VERSION,
        Array.from({ length: 20 }, (_, number) => off(id(0xa001 + number))),
      ),
      ...learns(VERSION + 1, [], [upsert(4, { tenant_id: id(0xa001 + 19) })]),
      ...codes('suspended_tenant', 'suspended_tenant'),
      verifies(liveKey(4), 'suspended_tenant'),
      ...learns(VERSION + 2, [
        on(acme),
        ...Array.from({ length: 20 }, (_, number) => on(id(0xa001 + number))),
      ]),
      ...codes('valid', 'valid'),
      verifies(liveKey(4), 'valid'),
    ],
  },
]

const orderCases: readonly Case[] = [
  {
    name: 'suspended comes before expired and scopes, and after the environment',
    from: 'verify.test.ts',
    steps: [
      answers(snapshot([record(1, { expires_at: at(-1) }), record(2)], listing(off(acme)))),
      polls('snapshot'),
      verifies(one, 'suspended_tenant'),
      verifies(two, 'suspended_tenant', {}, { scopes: ['admin'] }),
      verifies(two, 'wrong_env', {}, { env: 'test' }),
      ...learns(VERSION, [on(acme)]),
      verifies(one, 'expired_key'),
      verifies(two, 'insufficient_scope', {}, { scopes: ['admin'] }),
    ],
  },
  {
    name: 'a paused or revoked key of a suspended tenant is disabled or revoked',
    from,
    steps: [
      acmeIsOff,
      ...learns(VERSION, [], [tombstone(1, { cause: 'disabled' }), tombstone(3, { cause: 'revoked' })]),
      ...codes('disabled_key', 'valid', 'revoked_key'),
      ...learns(VERSION + 1, [], [upsert(1)]),
      ...codes('suspended_tenant', 'valid', 'revoked_key'),
    ],
  },
  {
    name: 'keys that are not confirmed are stale, whatever their tenant is',
    from,
    steps: [acmeIsOff, advances(TTL_MS), ...codes('stale', 'stale', 'stale')],
  },
  {
    name: 'a protected route answers 401 to a key of a suspended tenant, and takes nothing from its limits',
    from,
    steps: [
      answers(snapshot([record(1, { rate_limits: [hour] })], listing(off(acme)))),
      polls('snapshot'),
      {
        do: { op: 'gate', headers: [['authorization', `Bearer ${one}`]] },
        gives: { status: 401, code: 'suspended_tenant' },
      },
    ],
  },
]

export const suspended: readonly Case[] = [...snapshotCases, ...deltaCases, ...orderCases]
