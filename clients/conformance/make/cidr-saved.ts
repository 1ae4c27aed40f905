import type { Case } from '../case.ts'
import {
  elsewhere,
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
import { open, opens, save } from './disks.ts'
import {
  answers,
  asksDelta,
  delta,
  liveKey,
  one,
  polls,
  record,
  snapshot,
  three,
  two,
  upsert,
  VERSION,
} from './fixtures.ts'
import { acme, beta, on } from './suspended.ts'

/** Networks in the copy on a disk. */

export const cidrSaved: readonly Case[] = [
  {
    name: 'the next process has the networks of keys and tenants before any answer, and changes them later',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      answers(
        snapshot([...keys, record(4, { allowed_cidrs: [], tenant_id: beta })], {
          ...listing(listed(acme, [net, '2001:db8::/32']), listed(beta, [other])),
        }),
      ),
      polls('snapshot'),
      save,
      opens(1_000),
      seen(one, inside, 'valid'),
      seen(one, '2001:db8::1', 'valid'),
      seen(one, outside, 'ip_not_allowed'),
      seen(one, null, 'ip_unknown'),
      seen(two, elsewhere, 'valid'),
      seen(two, inside, 'ip_not_allowed'),
      seen(three, elsewhere, 'valid'),
      seen(three, inside, 'ip_not_allowed'),
      seen(liveKey(4), null, 'valid'),
      ...learns(VERSION, [on(acme)], [upsert(3)], {}, 1_000),
      seen(one, null, 'valid'),
      seen(two, inside, 'ip_not_allowed'),
      seen(three, null, 'valid'),
    ],
  },
  {
    name: 'networks of a tenant by a delta without another change are saved, and so is their end',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      noneIsLimited,
      save,
      opens(1_000),
      answers(delta(VERSION, VERSION, [], 1_000, listing(listed(acme, [net]))), asksDelta(VERSION)),
      polls('unchanged'),
      save,
      opens(2_000),
      seen(one, outside, 'ip_not_allowed'),
      seen(one, inside, 'valid'),
      answers(delta(VERSION, VERSION, [], 2_000, listing(on(acme))), asksDelta(VERSION)),
      polls('unchanged'),
      save,
      opens(3_000),
      seen(one, null, 'valid'),
    ],
  },
  {
    name: 'networks that cannot be read are saved: the next process allows no address either',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      answers(snapshot(keys, listing(listed(acme, 7)))),
      polls('snapshot', { reports: ['unreadable_key'] }),
      save,
      opens(1_000),
      seen(one, inside, 'ip_not_allowed'),
      seen(one, null, 'ip_not_allowed'),
      seen(two, null, 'valid'),
      seen(three, elsewhere, 'valid'),
    ],
  },
]
