import type { Case } from '../case.ts'
import { BEGINS_AT } from '../run.ts'
import { open, opens, save } from './disks.ts'
import {
  advances,
  answers,
  asksDelta,
  asksSnapshot,
  at,
  delta,
  one,
  polls,
  record,
  snapshot,
  tombstone,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'
import { holds } from './verdicts.ts'

/** When keys are too old for their project. */

const from = 'lifetime.test.ts'

export const lifetimes: readonly Case[] = [
  {
    name: 'a node asks when keys are too old, with every request',
    from,
    steps: [
      answers(snapshot([record(1)]), { ...asksSnapshot, features: ['lifetime'] }),
      polls('snapshot'),
      answers(delta(VERSION, VERSION, []), { ...asksDelta(VERSION), features: ['lifetime'] }),
      polls('unchanged'),
    ],
  },
  {
    name: 'a key works up to the millisecond before it is too old, which verdicts have as its end',
    from,
    steps: [
      ...holds(record(1, { expires_at: null, too_old_at: at(5_000) })),
      advances(4_999),
      verifies(one, 'valid', { expires_at: BEGINS_AT + 5_000 }),
      advances(1),
      verifies(one, 'too_old'),
    ],
  },
  {
    name: 'a key ends at the earlier of its expiry and its age, with the code of that',
    from,
    steps: [
      ...holds(
        record(1, { expires_at: at(2_000), too_old_at: at(1_000) }),
        record(2, { expires_at: at(2_000), too_old_at: at(2_000) }),
      ),
      verifies(one, 'valid', { expires_at: BEGINS_AT + 1_000 }),
      verifies(two, 'valid', { expires_at: BEGINS_AT + 2_000 }),
      advances(2_000),
      verifies(one, 'too_old'),
      verifies(two, 'expired_key'),
    ],
  },
  {
    name: 'a change gives a key an age, and takes the age from it',
    from,
    steps: [
      ...holds(record(1, { expires_at: null })),
      advances(1_000),
      answers(
        delta(VERSION, VERSION + 1, [upsert(1, { expires_at: null, too_old_at: at(500) })], 1_000),
        asksDelta(VERSION),
      ),
      polls('delta'),
      verifies(one, 'too_old'),
      answers(
        delta(VERSION + 1, VERSION + 2, [upsert(1, { expires_at: null })], 1_000),
        asksDelta(VERSION + 1),
      ),
      polls('delta'),
      verifies(one, 'valid', { expires_at: null }),
    ],
  },
  ...['soon', 1_900_000_000_000, null].map(
    (too_old_at): Case => ({
      name: `an age that is ${JSON.stringify(too_old_at)} costs its key alone`,
      from,
      steps: [
        answers(snapshot([record(1, { too_old_at }), record(2)]), asksSnapshot),
        polls('snapshot', { reports: ['unreadable_key'] }),
        verifies(one, 'unknown_key'),
        verifies(two, 'valid'),
      ],
    }),
  ),
  {
    name: 'a deleted project: a key that was too old stays too old, the others are revoked',
    from,
    steps: [
      ...holds(
        record(1, { expires_at: null, too_old_at: at(500) }),
        record(2, { expires_at: null, too_old_at: at(5_000) }),
      ),
      advances(1_000),
      answers(snapshot([], { project_deleted: true }, 1_000, VERSION + 1), asksDelta(VERSION)),
      polls('snapshot'),
      verifies(one, 'too_old'),
      verifies(two, 'revoked_key'),
    ],
  },
  {
    name: 'the next process has the ages of keys before any answer',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      ...holds(record(1, { expires_at: null, too_old_at: at(2_000) }), record(2, { expires_at: at(2_000) })),
      save,
      opens(1_000),
      verifies(one, 'valid', { expires_at: BEGINS_AT + 2_000 }),
      advances(1_000),
      verifies(one, 'too_old'),
      verifies(two, 'expired_key'),
      answers(
        delta(VERSION, VERSION + 1, [tombstone(1, { cause: 'revoked' })], 2_000),
        asksDelta(VERSION, { prefer: null }),
      ),
      polls('delta'),
      verifies(one, 'revoked_key'),
    ],
  },
]
