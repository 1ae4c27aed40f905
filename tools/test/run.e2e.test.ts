import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { failing, passing, runFiles } from './run-files.ts'

test('a file that fails once and passes alone leaves the run green, and is named as unsteady', async t => {
  const flaky = `
    import { existsSync, writeFileSync } from 'node:fs'
    import { test } from 'node:test'
    test('holds at the second try', () => {
      const mark = process.env.PLACE + '/mark'
      const first = !existsSync(mark)
      writeFileSync(mark, '')
      if (first) throw new Error('impatient')
    })`
  const run = await runFiles(t, { 'flaky.test.mjs': flaky, 'good.test.mjs': passing })
  assert.equal(run.green, true)
  assert.equal(run.closing.at(-1), '2 passed, 0 failed')
  assert.match(
    run.closing.join('\n'),
    /^unsteady, passed when it ran alone: .*flaky\.test\.mjs: "holds at the second try"$/m,
  )
  const [kept = ''] = readdirSync(join(run.folder, 'kept'))
  assert.match(readFileSync(join(run.folder, 'kept', kept), 'utf8'), /impatient/)
})

test('a file that fails twice makes the run red', async t => {
  const run = await runFiles(t, { 'bad.test.mjs': failing, 'good.test.mjs': passing })
  assert.equal(run.green, false)
  assert.equal(run.closing.at(-1), '1 passed, 1 failed')
  assert.match(run.closing.join('\n'), /^failed: .*bad\.test\.mjs: "does not hold"$/m)
  assert.match(run.printed, /as planted/)
  assert.equal(readdirSync(join(run.folder, 'kept')).length, 2)
})

test('two files at fault in one run are both named and counted', async t => {
  const thrown = `throw new Error('before any test')`
  const run = await runFiles(t, {
    'one.test.mjs': failing,
    'two.test.mjs': thrown,
    'three.test.mjs': passing,
  })
  assert.equal(run.green, false)
  assert.equal(run.closing.at(-1), '1 passed, 2 failed')
  assert.match(run.closing.join('\n'), /^failed: .*one\.test\.mjs: "does not hold"$/m)
  assert.match(run.closing.join('\n'), /^failed: .*two\.test\.mjs: exited with 1$/m)
})

test('a file that prints 100 MB is shown by its last lines', async t => {
  const talking = `
    import { test } from 'node:test'
    test('talks', () => {
      const line = 'x'.repeat(1023) + '\\n'
      for (let i = 0; i < 100; i++) process.stdout.write(line.repeat(1024))
      throw new Error('after many words')
    })`
  const before = process.memoryUsage().rss
  const run = await runFiles(t, { 'talking.test.mjs': talking }, { secondLook: false })
  assert.equal(run.green, false)
  assert.match(run.printed, /after many words/)
  assert.ok(run.printed.length < 64 * 1_024, `${run.printed.length} characters`)
  const grown = process.memoryUsage().rss - before
  assert.ok(grown < 50 * 2 ** 20, `the run grew by ${grown} bytes`)
})

test('a file without a test fails', async t => {
  const run = await runFiles(t, { 'empty.test.mjs': '', 'good.test.mjs': passing })
  assert.equal(run.green, false)
  assert.match(run.closing.join('\n'), /^failed: .*empty\.test\.mjs: has no test$/m)
})

test('a file that exits before its tests have ended fails, also with exit code 0', async t => {
  const leaving = `
    import { test } from 'node:test'
    test('passes before', () => {})
    await new Promise(resolve => setTimeout(resolve, 50))
    test('leaves', async () => {
      await new Promise(resolve => setTimeout(resolve, 50))
      process.exit(0)
    })
    test('is never reached', () => {})`
  const run = await runFiles(t, { 'leaving.test.mjs': leaving })
  assert.equal(run.green, false)
  assert.match(
    run.closing.join('\n'),
    /leaving\.test\.mjs: (exited before its tests had ended|has no test)$/m,
  )
})

test('each of a file’s failed runs is kept, and nothing of an earlier run', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-kept-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'bad.test.mjs')
  const kept = join(folder, 'kept')
  writeFileSync(file, failing)
  for (const times of [3, 1]) {
    const files = Array.from({ length: times }, () => file)
    await runFiles(t, {}, { files, kept, secondLook: false })
    assert.equal(readdirSync(kept).length, times)
  }
})

test('a skipped test counts as failed', async t => {
  const skipping = `import { test } from 'node:test'; test('later', { skip: true }, () => {})`
  const run = await runFiles(t, { 'skipping.test.mjs': skipping })
  assert.equal(run.green, false)
})

test('after its minutes a run begins nothing, names the rest, and is judged by the others', async t => {
  const run = await runFiles(t, { 'late.test.mjs': failing }, { beginWithinMs: 0 })
  assert.equal(run.green, true)
  assert.deepEqual(run.results, [])
  assert.match(run.closing.join('\n'), /^not begun: 1 files\n {2}.*late\.test\.mjs$/m)
})

test('a quarantined test runs and is reported, and only it is not judged', async t => {
  const quarantined = [{ file: 'known.test.mjs', test: 'does not hold' }]
  const known = await runFiles(t, { 'known.test.mjs': failing, 'good.test.mjs': passing }, { quarantined })
  assert.equal(known.green, true)
  assert.match(
    known.closing.join('\n'),
    /^quarantined since 2026-01-01: .*known\.test\.mjs "does not hold"$/m,
  )
  assert.match(known.printed, /known\.test\.mjs {2}0 passed/)
  const hook = `${failing}; import { after, describe } from 'node:test'
    describe('a suite', () => {
      after(() => { throw new Error('does not close') })
      test('holds', () => {})
    })`
  const suite = await runFiles(t, { 'known.test.mjs': hook }, { quarantined })
  assert.equal(suite.green, false)
  assert.match(suite.closing.join('\n'), /^failed: .*known\.test\.mjs: the suite "a suite" failed$/m)
  const both = `${failing}; test('fails too', () => { throw new Error('another') })`
  const other = await runFiles(t, { 'known.test.mjs': both, 'good.test.mjs': passing }, { quarantined })
  assert.equal(other.green, false)
  assert.match(other.closing.join('\n'), /^failed: .*known\.test\.mjs: "fails too"$/m)
})
