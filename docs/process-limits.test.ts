import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportsMax } from '../packages/server/src/audit/exports.ts'
import { inFlightMax, ownEndsInFlightMax } from '../packages/server/src/gate/in-flight.ts'
import { identifiedAMinute, updatedAMinute } from '../packages/server/src/keys/turns.ts'
import { freeFailures } from '../packages/server/src/people/sign-in-guard.ts'
import { mostWaiting } from '../packages/server/src/platform/concurrency/batching.ts'
import { waitingMax } from '../packages/server/src/platform/crypto/password.ts'
import {
  largeBytesMax,
  mediumBytesMax,
  signedBytesMax,
} from '../packages/server/src/platform/http/body/large-bodies.ts'
import { rowsOfNobody, rowsPerWorkspace } from '../packages/server/src/security-events/tally.ts'
import { settings } from '../packages/server/src/settings.ts'
import { readDocument, section, tableOf } from './documents.ts'

const rows = tableOf(section(readDocument('docs/scaling.md'), 'What each process counts'))
const mib = (bytes: number) => `${bytes / 1_048_576} MiB`

/** What the code says, by a beginning of the row. */
const stated: Record<string, string[]> = {
  'keys that a credential identifies': [`${identifiedAMinute} a minute`],
  'changes of keys that a tenant makes': [`${updatedAMinute} a minute`],
  'failures in a row': [`${freeFailures}`],
  'passwords that wait': [`${waitingMax}`],
  'requests of a credential under way': [`${inFlightMax}`],
  'requests of a session that end': [`${ownEndsInFlightMax}`],
  'bodies and answers': [mib(largeBytesMax), mib(mediumBytesMax), mib(signedBytesMax)],
  'rate-limit checks that wait': [mostWaiting.toLocaleString('en')],
  'exports of audit logs': [`${exportsMax}`],
  'security events': [`${rowsPerWorkspace} and ${rowsOfNobody} rows`],
}

test('the page on scaling states the limits of a process as the code has them', () => {
  for (const [beginning, parts] of Object.entries(stated)) {
    const row = rows.find(([limit = '']) => limit.startsWith(beginning))
    for (const part of parts) assert.ok(row?.[1]?.includes(part), `${beginning}: ${part}`)
  }
})

test('the page on scaling names only settings that there are', () => {
  const names = rows.flatMap(row => row.join(' ').match(/SERVICE_[A-Z_]+/g) ?? [])
  assert.ok(names.length >= 5)
  for (const name of names) assert.ok(Object.hasOwn(settings, name), name)
})
