import { id } from '../../../packages/sdk/test/keys.ts'
import type { Case } from '../case.ts'
import { open, opens, save } from './disks.ts'
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
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'
import {
  acme,
  acmeIsOff,
  beta,
  codes,
  features,
  from,
  keys,
  learns,
  listing,
  noneIsOff,
  off,
  on,
} from './suspended.ts'
import { page } from './walks.ts'

/** Suspended tenants: what a node cannot read, services that know less, and the copy on a disk. */

const oddCases: readonly Case[] = [
  ...['yes', 0, null, {}].map(
    (value): Case => ({
      name: `suspended is ${JSON.stringify(value)}: the tenant counts as suspended, which is reported`,
      from,
      steps: [
        answers(snapshot(keys, listing(off(beta, value)))),
        polls('snapshot', { reports: ['unreadable_key'] }),
        ...codes('valid', 'suspended_tenant', 'valid'),
        ...learns(VERSION, [off(acme, value), on(beta)], [], { reports: ['unreadable_key'] }),
        ...codes('suspended_tenant', 'valid', 'suspended_tenant'),
      ],
    }),
  ),
  ...[undefined, 'all', [null], [{ suspended: true }], [{ tenant_id: 7, suspended: true }]].map(
    (tenants): Case => ({
      name: `tenants are ${JSON.stringify(tenants) ?? 'absent'} though suspended is given: nothing is applied`,
      from,
      steps: [
        acmeIsOff,
        answers(delta(VERSION, VERSION + 1, [upsert(4)], 0, { features, tenants }), asksDelta(VERSION)),
        fails('bad_response'),
        ...codes('suspended_tenant', 'valid', 'suspended_tenant'),
        verifies(liveKey(4), 'unknown_key'),
      ],
    }),
  ),
  {
    name: 'more suspended tenants than a node may hold keys: it does not serve the snapshot',
    from,
    open: { max_keys: 2 },
    steps: [
      page([1], 'a', 'first', listing(off(id(0xb001)), off(id(0xb002)))),
      page([2], null, { cursor: 'a' }, listing(off(id(0xb003)))),
      fails('bad_response'),
      verifies(one, 'not_ready'),
    ],
  },
  {
    name: 'a delta with more suspended tenants than a node may hold keys: it takes a snapshot',
    from,
    open: { max_keys: 2 },
    steps: [
      answers(snapshot([record(1)], listing(off(id(0xb001)), off(id(0xb002))))),
      polls('snapshot'),
      answers(delta(VERSION, VERSION + 1, [], 0, listing(off(acme))), asksDelta(VERSION)),
      answers(snapshot([record(1)], listing(off(acme)), 0, VERSION + 1), asksSnapshot),
      polls('snapshot'),
      verifies(one, 'suspended_tenant'),
    ],
  },
]

const otherServices: readonly Case[] = [
  {
    name: 'a service without the feature suspends no tenant and resumes none, and is not asked anew',
    from,
    steps: [
      answers(snapshot(keys, { features: ['external_id', 'suspended'], tenants: [off(acme)] })),
      polls('snapshot'),
      answers(delta(VERSION, VERSION, [], 0, { features: ['external_id'], tenants: [on(acme), off(beta)] })),
      polls('unchanged'),
      answers(delta(VERSION, VERSION, []), asksDelta(VERSION)),
      polls('unchanged'),
      ...codes('suspended_tenant', 'valid', 'suspended_tenant'),
    ],
  },
  {
    name: 'after an upgrade of the service keys are taken anew, once, with those of suspended tenants',
    from,
    steps: [
      serves,
      answers(delta(VERSION, VERSION, [], 0, listing()), asksDelta(VERSION)),
      answers(snapshot(keys, listing(off(beta))), asksSnapshot),
      polls('snapshot'),
      ...codes('valid', 'suspended_tenant', 'valid'),
      answers(delta(VERSION, VERSION, [], 0, listing()), asksDelta(VERSION)),
      polls('unchanged'),
    ],
  },
  {
    name: 'a walk of which one page does not know the feature is taken anew once the service knows it',
    from,
    steps: [
      page([1], 'a', 'first', listing(off(acme))),
      page([2, 3], null, { cursor: 'a' }),
      polls('snapshot'),
      ...codes('suspended_tenant', 'suspended_tenant', 'suspended_tenant'),
      answers(delta(VERSION + 1, VERSION + 1, [], 0, listing()), asksDelta(VERSION + 1)),
      answers(snapshot(keys, listing(off(beta)), 0, VERSION + 1), asksSnapshot),
      polls('snapshot'),
      ...codes('valid', 'suspended_tenant', 'valid'),
    ],
  },
]

const savedCases: readonly Case[] = [
  {
    name: 'the next process refuses the keys of suspended tenants before any answer, and resumes them later',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      acmeIsOff,
      ...learns(VERSION, [off(id(0xa002))]),
      save,
      opens(1_000),
      ...codes('suspended_tenant', 'valid', 'suspended_tenant'),
      ...learns(VERSION + 1, [on(acme)], [upsert(4, { tenant_id: id(0xa002) })], {}, 1_000),
      ...codes('valid', 'valid', 'valid'),
      verifies(liveKey(4), 'suspended_tenant'),
    ],
  },
  {
    name: 'a suspension by a delta without another change is saved',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      noneIsOff,
      save,
      opens(1_000),
      answers(delta(VERSION, VERSION, [], 1_000, listing(off(acme))), asksDelta(VERSION)),
      polls('unchanged'),
      save,
      opens(2_000),
      ...codes('suspended_tenant', 'valid', 'suspended_tenant'),
    ],
  },
]

export const suspendedOdd: readonly Case[] = [...oddCases, ...otherServices, ...savedCases]
