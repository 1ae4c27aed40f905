import type { Case } from '../case.ts'
import {
  acmeIsLimited,
  elsewhere,
  from,
  inside,
  learns,
  listed,
  listing,
  net,
  noneIsLimited,
  other,
  outside,
  seen,
} from './cidr.ts'
import { answers, delta, liveKey, one, polls, three, tombstone, two, upsert, VERSION } from './fixtures.ts'
import { acme, beta, on } from './suspended.ts'

/** Networks of keys and tenants that a delta changes. */

export const cidrChanges: readonly Case[] = [
  {
    name: 'a delta gives a tenant networks, another changes them, and another ends them',
    from,
    steps: [
      noneIsLimited,
      ...learns(VERSION, [listed(acme, [net])]),
      seen(one, inside, 'valid'),
      seen(one, elsewhere, 'ip_not_allowed'),
      ...learns(VERSION + 1, [listed(acme, [other, '2001:db8::/32'])]),
      seen(one, inside, 'ip_not_allowed'),
      seen(one, elsewhere, 'valid'),
      seen(one, '2001:db8::7', 'valid'),
      ...learns(VERSION + 2, [on(acme)]),
      seen(one, null, 'valid'),
      seen(three, inside, 'ip_not_allowed'),
    ],
  },
  {
    name: 'a delta changes the networks of the tenants that it lists, and of no other',
    from,
    steps: [
      acmeIsLimited,
      ...learns(VERSION, [listed(beta, [other])]),
      seen(one, outside, 'ip_not_allowed'),
      seen(two, outside, 'ip_not_allowed'),
      ...learns(VERSION + 1, [on(acme)], [tombstone(3)]),
      seen(one, outside, 'valid'),
      seen(two, outside, 'ip_not_allowed'),
    ],
  },
  {
    name: 'the networks of a key come, change, are emptied, and go: then it has those of its tenant',
    from,
    steps: [
      acmeIsLimited,
      ...learns(VERSION, [], [upsert(1, { allowed_cidrs: [other] })]),
      seen(one, elsewhere, 'valid'),
      seen(one, inside, 'ip_not_allowed'),
      ...learns(VERSION + 1, [], [upsert(1, { allowed_cidrs: ['198.51.100.7/32'] })]),
      seen(one, elsewhere, 'ip_not_allowed'),
      seen(one, outside, 'valid'),
      ...learns(VERSION + 2, [], [upsert(1, { allowed_cidrs: [] })]),
      seen(one, null, 'valid'),
      ...learns(VERSION + 3, [], [upsert(1)]),
      seen(one, inside, 'valid'),
      seen(one, outside, 'ip_not_allowed'),
    ],
  },
  {
    name: 'a tenant without a key has networks too, for the keys that come later',
    from,
    steps: [
      noneIsLimited,
      ...learns(VERSION, [listed(beta, [net])], [tombstone(2)]),
      ...learns(VERSION + 1, [], [upsert(2, { tenant_id: beta })]),
      seen(two, inside, 'valid'),
      seen(two, outside, 'ip_not_allowed'),
      ...learns(VERSION + 2, [listed(acme, [other])], [upsert(4)]),
      seen(liveKey(4), outside, 'ip_not_allowed'),
    ],
  },
  {
    name: 'a key that moves to a tenant has the networks of that tenant',
    from,
    steps: [
      acmeIsLimited,
      ...learns(VERSION, [], [upsert(1, { tenant_id: beta }), upsert(2, { tenant_id: acme })]),
      seen(one, outside, 'valid'),
      seen(two, outside, 'ip_not_allowed'),
    ],
  },
  {
    name: 'a key that was removed leaves no networks to the one in its place',
    from,
    steps: [
      noneIsLimited,
      ...learns(VERSION, [], [tombstone(3), upsert(4), upsert(5)]),
      seen(liveKey(4), null, 'valid'),
      seen(liveKey(5), null, 'valid'),
    ],
  },
  {
    name: 'a deleted project has no networks, and a restored one lists them again',
    from,
    steps: [
      acmeIsLimited,
      answers(delta(VERSION, VERSION + 1, [], 0, { ...listing(), project_deleted: true })),
      polls('delta'),
      seen(one, inside, 'revoked_key'),
      ...learns(VERSION + 1, [], [upsert(1)]),
      seen(one, null, 'valid'),
    ],
  },
]
