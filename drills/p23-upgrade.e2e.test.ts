import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { formatOutcome } from './harness/drill.ts'
import { findPrevious } from './harness/previous-release.ts'
import { drill, upgradeFrom } from './p23-upgrade.ts'

const options = { cycles: 1, seed: 1, signal: new AbortController().signal, say() {} }

test('two releases work side by side on one database, forward and back', async () => {
  const previous = findPrevious()
  const outcome = await upgradeFrom(previous, options, 1)
  assert.deepEqual(outcome.broken, [])
  // A copy without a history says so, in place of the six phases.
  assert.equal(outcome.rows.length, previous === null ? 0 : 6)
  assert.equal(outcome.undecided?.length ?? 0, previous === null ? 1 : 0)
})

test('without a history there is no release before, and the drill does not say that it was kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-tarball-'))
  const previous = findPrevious(folder)
  rmSync(folder, { recursive: true })
  assert.equal(previous, null)
  const text = formatOutcome(drill, options, await upgradeFrom(previous, options))
  assert.match(text, /NOT DECIDED: not run/)
  assert.doesNotMatch(text, /was kept/)
})
