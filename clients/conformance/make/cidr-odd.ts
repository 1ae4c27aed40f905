import { id } from '../../../packages/sdk/test/keys.ts'
import type { Case } from '../case.ts'
import {
  acmeIsLimited,
  elsewhere,
  features,
  from,
  inside,
  keys,
  learns,
  listed,
  listing,
  net,
  noneIsLimited,
  other,
  outside,
  seen,
} from './cidr.ts'
import {
  answers,
  asksDelta,
  asksSnapshot,
  delta,
  fails,
  liveKey,
  one,
  polls,
  record,
  serves,
  snapshot,
  three,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'
import { acme, beta, on } from './suspended.ts'
import { page } from './walks.ts'

/** Networks that a node cannot read, and services that know less. */

/** Lists that no node can read. */
const odd: readonly unknown[] = [
  null,
  net,
  { 0: net },
  7,
  [net, 7],
  [null],
  Array.from({ length: 33 }, (_, number) => `10.0.${number}.0/24`),
  [''],
  ['localhost/32'],
  ['192.0.2.1'],
  ['192.0.2.0/'],
  ['192.0.2.0/33'],
  ['2001:db8::/129'],
  ['192.0.2.0/+24'],
  ['192.0.2.0/024'],
  ['192.0.2.0/255.255.255.0'],
  ['192.0.2.0/24/24'],
  ['192.0.2.0 /24'],
  ['192.0.2.0/24\n'],
  ['192.0.02.0/24'],
  ['fe80::%eth0/64'],
  ['192.0.2.1/24'],
  ['2001:db8::1/64'],
  [net, '2001:db8::/32', '::ffff:192.0.2.0/95'],
]
const oddTenant = (number: number) => id(0xb000 + number)
/** The numbers of keys with these lists. */
const numbers = odd.map((_, number) => 10 + number)

const oddCases: readonly Case[] = [
  {
    name: 'a key whose networks cannot be read is refused, and no other key',
    from,
    steps: [
      answers(
        snapshot(
          [record(1), ...odd.map((allowed_cidrs, at) => record(10 + at, { allowed_cidrs }))],
          listing(),
        ),
      ),
      polls('snapshot', { reports: ['unreadable_key'] }),
      verifies(one, 'valid'),
      ...numbers.map(number => seen(liveKey(number), inside, 'unknown_key')),
    ],
  },
  {
    name: 'a key whose networks a delta makes unreadable is refused, until they are right',
    from,
    steps: [
      noneIsLimited,
      ...learns(VERSION, [], [upsert(3, { allowed_cidrs: 'new' })], { reports: ['unreadable_key'] }),
      seen(three, elsewhere, 'unknown_key'),
      ...learns(VERSION + 1, [], [upsert(3, { allowed_cidrs: [net] })]),
      seen(three, inside, 'valid'),
    ],
  },
  {
    name: 'a tenant whose networks cannot be read allows no address, which is reported once',
    from,
    steps: [
      answers(
        snapshot(
          numbers.map(number => record(number, { tenant_id: oddTenant(number) })),
          listing(on(acme), ...odd.map((allowed_cidrs, at) => listed(oddTenant(10 + at), allowed_cidrs))),
        ),
      ),
      polls('snapshot', { reports: ['unreadable_key'] }),
      ...numbers.map(number => seen(liveKey(number), inside, 'ip_not_allowed')),
    ],
  },
  {
    name: 'a tenant whose networks cannot be read: keys with their own are judged, and a right list ends it',
    from,
    steps: [
      answers(
        snapshot([record(1), record(2, { allowed_cidrs: [] }), record(3, { allowed_cidrs: [other] })], {
          ...listing(listed(acme, 'new')),
        }),
      ),
      polls('snapshot', { reports: ['unreadable_key'] }),
      seen(one, inside, 'ip_not_allowed'),
      seen(one, null, 'ip_not_allowed'),
      seen(two, null, 'valid'),
      seen(three, elsewhere, 'valid'),
      ...learns(VERSION, [listed(acme, [net])]),
      seen(one, inside, 'valid'),
      ...learns(VERSION + 1, [listed(acme, 'new')], [], { reports: ['unreadable_key'] }),
      seen(one, inside, 'ip_not_allowed'),
      ...learns(VERSION + 2, [on(acme)]),
      seen(one, null, 'valid'),
    ],
  },
  ...[undefined, 'all', [null], [{ allowed_cidrs: [net] }], [{ tenant_id: 7, allowed_cidrs: [net] }]].map(
    (tenants): Case => ({
      name: `tenants are ${JSON.stringify(tenants) ?? 'absent'} though cidr is given: nothing is applied`,
      from,
      steps: [
        acmeIsLimited,
        answers(delta(VERSION, VERSION + 1, [upsert(4)], 0, { features, tenants }), asksDelta(VERSION)),
        fails('bad_response'),
        seen(one, outside, 'ip_not_allowed'),
        verifies(liveKey(4), 'unknown_key'),
      ],
    }),
  ),
  {
    name: 'more tenants with networks than a node may hold keys: it does not serve the snapshot',
    from,
    open: { max_keys: 2 },
    steps: [
      page([1], 'a', 'first', listing(listed(id(0xb001), [net]), listed(id(0xb002), [net]))),
      page([2], null, { cursor: 'a' }, listing(listed(id(0xb003), [net]))),
      fails('bad_response'),
      verifies(one, 'not_ready'),
    ],
  },
  {
    name: 'a delta with more tenants with networks than a node may hold keys: it takes a snapshot',
    from,
    open: { max_keys: 2 },
    steps: [
      answers(snapshot([record(1)], listing(listed(id(0xb001), [net]), listed(id(0xb002), [net])))),
      polls('snapshot'),
      answers(delta(VERSION, VERSION + 1, [], 0, listing(listed(acme, [net]))), asksDelta(VERSION)),
      answers(snapshot([record(1)], listing(listed(acme, [net])), 0, VERSION + 1), asksSnapshot),
      polls('snapshot'),
      seen(one, outside, 'ip_not_allowed'),
    ],
  },
]

const otherServices: readonly Case[] = [
  {
    name: 'a service without the feature changes no networks, also not those of a key that it changes',
    from,
    steps: [
      acmeIsLimited,
      answers(
        delta(VERSION, VERSION + 1, [upsert(1), upsert(3)], 0, {
          tenants: [on(acme), listed(beta, [net])],
        }),
      ),
      polls('delta'),
      seen(one, outside, 'ip_not_allowed'),
      seen(two, null, 'valid'),
      seen(three, outside, 'ip_not_allowed'),
      seen(three, elsewhere, 'valid'),
      answers(delta(VERSION + 1, VERSION + 1, [], 0, listing()), asksDelta(VERSION + 1)),
      answers(snapshot(keys, listing(listed(beta, [net])), 0, VERSION + 1), asksSnapshot),
      polls('snapshot'),
      seen(one, null, 'valid'),
      seen(two, outside, 'ip_not_allowed'),
      seen(three, outside, 'ip_not_allowed'),
    ],
  },
  {
    name: 'after an upgrade of the service keys are taken anew, once, with those that have networks',
    from,
    steps: [
      serves,
      answers(delta(VERSION, VERSION, [], 0, listing()), asksDelta(VERSION)),
      answers(snapshot(keys, listing(listed(acme, [net]))), asksSnapshot),
      polls('snapshot'),
      seen(one, outside, 'ip_not_allowed'),
      seen(three, elsewhere, 'valid'),
      answers(delta(VERSION, VERSION, [], 0, listing()), asksDelta(VERSION)),
      polls('unchanged'),
    ],
  },
  {
    name: 'networks of a tenant in an answer without suspended suspend and resume nothing',
    from,
    steps: [
      answers(
        snapshot(keys, {
          features: ['cidr', 'suspended'],
          tenants: [{ tenant_id: acme, suspended: true }, listed(beta, [net])],
        }),
      ),
      polls('snapshot'),
      answers(delta(VERSION, VERSION + 1, [], 0, listing(on(acme), { ...on(beta), suspended: true }))),
      polls('delta'),
      verifies(one, 'suspended_tenant'),
      seen(two, null, 'valid'),
    ],
  },
]

export const cidrOdd: readonly Case[] = [...oddCases, ...otherServices]
