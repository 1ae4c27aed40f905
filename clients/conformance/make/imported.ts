import { id, lookupHash } from '../../../packages/sdk/test/keys.ts'
import type { Case, Json } from '../case.ts'
import { BEGINS_AT } from '../run.ts'
import { open, opens, save } from './disks.ts'
import {
  advances,
  answers,
  asksDelta,
  asksSnapshot,
  at,
  delta,
  liveKey,
  one,
  polls,
  record,
  snapshot,
  testKey,
  tombstone,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'

/** Keys from elsewhere, which have any form. */

const from = 'imported.test.ts'
const features = ['imported']
const accepting: Json = { features, accepts_imported: true }

const old = 'old-key_of.another/system+1='
const longest = '~'.repeat(512)
/** The record of a key with this text. */
const imported = (number: number, text: string, more: Json = {}): Json =>
  record(number, { lookup_hash: lookupHash(text), display_prefix: text.slice(0, 4), ...more })
const importedUpsert = (number: number, text: string, more: Json = {}): Json =>
  upsert(number, { lookup_hash: lookupHash(text), display_prefix: text.slice(0, 4), ...more })

const holds = (keys: readonly Json[], more: Json = accepting) => [
  answers(snapshot(keys, more), asksSnapshot),
  polls('snapshot'),
]

/** One character was changed, so the checksum is wrong. */
const mistyped = `${one.slice(0, -1)}${one.endsWith('0') ? '1' : '0'}`

/** What no key from elsewhere can have. */
const never = [`${longest}~`, 'a b', 'a\n', ' a', '\u007f', 'ключ', 'é'].map(text =>
  verifies(text, 'malformed_key'),
)

const verdicts: readonly Case[] = [
  {
    name: 'a node asks for keys from elsewhere, with every request',
    from,
    steps: [
      answers(snapshot([record(1)]), { ...asksSnapshot, features }),
      polls('snapshot'),
      answers(delta(VERSION, VERSION, []), { ...asksDelta(VERSION), features }),
      polls('unchanged'),
    ],
  },
  {
    name: 'a text of any form is a key where the project takes keys from elsewhere',
    from,
    steps: [
      ...holds([imported(1, old), imported(2, '!'), imported(3, longest), imported(4, mistyped)]),
      verifies(old, 'valid', { key_id: id(1), env: 'live' }),
      verifies('!', 'valid', { key_id: id(2) }),
      verifies(longest, 'valid', { key_id: id(3) }),
      verifies(mistyped, 'valid', { key_id: id(4) }),
      verifies(`${old}x`, 'unknown_key'),
      verifies(old, 'insufficient_scope', {}, { scopes: ['a'] }),
    ],
  },
  {
    name: 'a text that no key from elsewhere can have stays malformed',
    from,
    steps: [...holds([record(1)]), ...never, verifies('', 'missing_key')],
  },
  {
    name: 'where the project takes no keys from elsewhere, other forms are malformed',
    from,
    steps: [
      ...holds([imported(1, old)], { features }),
      ...[old, mistyped, 'a b'].map(text => verifies(text, 'malformed_key')),
    ],
  },
  {
    name: 'a node without confirmed keys does not know whether the project takes keys from elsewhere',
    from,
    steps: [
      ...[old, mistyped].map(text => verifies(text, 'not_ready')),
      ...never,
      ...holds([record(1)], { features }),
      verifies(old, 'malformed_key'),
      advances(60_000),
      ...[old, mistyped].map(text => verifies(text, 'stale')),
      verifies('a b', 'malformed_key'),
    ],
  },
  {
    name: 'a key of the form of Keyrail keeps its checksum and its environment',
    from,
    steps: [
      ...holds([record(1)]),
      verifies(one, 'valid'),
      verifies(mistyped, 'unknown_key'),
      verifies(testKey(1), 'wrong_env'),
      verifies(one, 'wrong_env', {}, { env: 'test' }),
    ],
  },
  {
    name: 'the environment of a key from elsewhere is that of its record',
    from,
    steps: [
      ...holds([imported(1, old)]),
      verifies(old, 'valid', { env: 'live' }, { env: 'live' }),
      verifies(old, 'wrong_env', {}, { env: 'test' }),
      verifies(`${old}x`, 'unknown_key', {}, { env: 'test' }),
    ],
  },
  {
    name: 'keys from elsewhere expire, are revoked, and go stale as all others',
    from,
    steps: [
      ...holds([imported(1, old, { expires_at: at(1_000) }), imported(2, '!')]),
      advances(1_000),
      verifies(old, 'expired_key'),
      answers(
        delta(
          VERSION,
          VERSION + 1,
          [tombstone(2, { lookup_hash: lookupHash('!'), cause: 'revoked' })],
          1_000,
          accepting,
        ),
        asksDelta(VERSION),
      ),
      polls('delta'),
      verifies('!', 'revoked_key'),
      advances(60_000),
      verifies(old, 'stale'),
    ],
  },
]

const feeds: readonly Case[] = [
  {
    name: 'a delta says that the project takes keys from elsewhere, and that it takes none',
    from,
    steps: [
      ...holds([record(1)], { features }),
      verifies(old, 'malformed_key'),
      answers(delta(VERSION, VERSION + 1, [importedUpsert(2, old)], 0, accepting), asksDelta(VERSION)),
      polls('delta'),
      verifies(old, 'valid', { key_id: id(2) }),
      verifies('!', 'unknown_key'),
      answers(delta(VERSION + 1, VERSION + 2, [], 0, { features }), asksDelta(VERSION + 1)),
      polls('delta'),
      verifies(old, 'malformed_key'),
    ],
  },
  {
    name: 'a delta of a process that does not know keys from elsewhere changes nothing of them',
    from,
    steps: [
      ...holds([imported(1, old)]),
      answers(delta(VERSION, VERSION, []), asksDelta(VERSION)),
      polls('unchanged'),
      verifies(old, 'valid'),
    ],
  },
  {
    name: 'after an upgrade of the service to keys from elsewhere, keys are taken anew',
    from,
    steps: [
      ...holds([record(1)], {}),
      answers(delta(VERSION, VERSION, [], 0, accepting), asksDelta(VERSION)),
      answers(snapshot([record(1), imported(2, old)], accepting), asksSnapshot),
      polls('snapshot'),
      verifies(old, 'valid'),
      verifies(one, 'valid'),
    ],
  },
  ...[1, 'true', null, {}].map(
    (accepts_imported): Case => ({
      name: `accepts_imported that is ${JSON.stringify(accepts_imported)} is reported, and counts as absent`,
      from,
      steps: [
        answers(snapshot([record(1), imported(2, old)], { features, accepts_imported }), asksSnapshot),
        polls('snapshot', { reports: ['unreadable_key'] }),
        verifies(old, 'malformed_key'),
        verifies(one, 'valid'),
        answers(delta(VERSION, VERSION + 1, [upsert(3)], 0, accepting), asksDelta(VERSION)),
        polls('delta'),
        verifies(old, 'valid'),
        answers(
          delta(VERSION + 1, VERSION + 2, [upsert(4)], 0, { features, accepts_imported }),
          asksDelta(VERSION + 1),
        ),
        polls('delta', { reports: ['unreadable_key'] }),
        verifies(old, 'malformed_key'),
        verifies(liveKey(4), 'valid'),
      ],
    }),
  ),
]

const saved: readonly Case[] = [
  {
    name: 'the next process knows keys from elsewhere before any answer',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      ...holds([imported(1, old, { expires_at: at(2_000) })]),
      save,
      opens(1_000),
      verifies(old, 'valid', { expires_at: BEGINS_AT + 2_000 }),
      verifies('!', 'unknown_key'),
      advances(1_000),
      verifies(old, 'expired_key'),
    ],
  },
  {
    name: 'the next process takes no keys from elsewhere where the last one took none',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      ...holds([record(1)], { features }),
      save,
      opens(1_000),
      verifies(old, 'malformed_key'),
      verifies(one, 'valid'),
    ],
  },
  ...[false, true].map(
    (project_deleted): Case => ({
      name: `saved keys of a process that knew none from elsewhere leave doubt${project_deleted ? ', also of a deleted project' : ''}`,
      from: 'snapshot-file.test.ts',
      open,
      steps: [
        ...holds([record(1)], {}),
        save,
        opens(1_000),
        verifies(one, 'valid'),
        verifies(two, 'unknown_key'),
        verifies(old, 'not_ready'),
        verifies('a b', 'malformed_key'),
        answers(delta(VERSION, VERSION, [], 1_000, { project_deleted }), asksDelta(VERSION)),
        polls('unchanged'),
        verifies(old, 'malformed_key'),
      ],
    }),
  ),
  {
    name: 'after an upgrade of the service, saved keys that knew none from elsewhere are taken anew',
    from: 'snapshot-file.test.ts',
    open,
    steps: [
      ...holds([record(1)], {}),
      save,
      opens(1_000),
      answers(delta(VERSION, VERSION, [], 1_000, accepting), asksDelta(VERSION)),
      answers(snapshot([imported(2, old)], accepting, 1_000), asksSnapshot),
      polls('snapshot'),
      verifies(old, 'valid'),
    ],
  },
]

export const importedKeys: readonly Case[] = [...verdicts, ...feeds, ...saved]
