import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { closingLines, isGreen } from './closing.ts'
import { makeProgress } from './progress.ts'
import type { Quarantined } from './quarantine.ts'
import { type RunOptions, type RunResults, runTests } from './run.ts'

const passing = `import { test } from 'node:test'; test('holds', () => {})`
const failing = `import { test } from 'node:test'; test('does not hold', () => { throw new Error('as planted') })`

interface Ran extends RunResults {
  readonly folder: string
  readonly printed: string
  readonly closing: readonly string[]
  readonly green: boolean
}

/** Runs files of a new folder, whose texts find it in `process.env.PLACE`. */
async function runFiles(
  t: TestContext,
  texts: Readonly<Record<string, string>>,
  {
    quarantined = [],
    ...options
  }: Partial<RunOptions> & { quarantined?: readonly Pick<Quarantined, 'file' | 'test'>[] } = {},
): Promise<Ran> {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-runner-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  process.env.PLACE = folder
  const files = Object.entries(texts).map(([name, text]) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  })
  let printed = ''
  const print = (text: string) => {
    printed += text
  }
  const quarantine = quarantined.map(({ file, test }) => ({
    file: join(folder, file),
    test,
    since: '2026-01-01',
    cause: 'as planted',
  }))
  const run = await runTests({
    files,
    slots: 2,
    beginWithinMs: Number.POSITIVE_INFINITY,
    secondLook: true,
    quarantine,
    kept: join(folder, 'kept'),
    stopped: new AbortController().signal,
    progress: makeProgress({ files, times: {}, print, terminal: false }),
    ...options,
  })
  const facts = {
    ...run,
    quarantine,
    faults: [],
    postgresVersion: '18',
    postgresCpuSeconds: 0,
    seconds: 1,
    seed: 1,
  }
  return { ...run, folder, printed, closing: closingLines(facts), green: isGreen(facts) }
}

const isRunning = (pid: number): boolean => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
const readPid = (folder: string, name = 'pid'): number => Number(readFileSync(join(folder, name), 'utf8'))

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

/** A test file that starts a process, notes its number in a file, and never ends. */
const hanging = (name: string, start: string) => `
  import { spawn } from 'node:child_process'
  import { writeFileSync } from 'node:fs'
  import { test } from 'node:test'
  test('never ends', async () => {
    const { pid } = ${start}
    writeFileSync(process.env.PLACE + '/${name}', String(pid))
    await new Promise(() => setInterval(() => {}, 1000))
  })`

test('files that hang are killed at their limit, with all that they started', async t => {
  const tidying = 'read -r _; sleep 0.2; touch "$PLACE/tidied"'
  const run = await runFiles(
    t,
    {
      'plain.e2e.test.mjs': hanging('plain', `spawn('sleep', ['600'])`),
      // This has another group, and not the file's environment.
      'far.e2e.test.mjs': hanging('far', `spawn('/bin/sleep', ['600'], { detached: true, env: {} })`),
      'tidying.e2e.test.mjs': hanging('tidying', `spawn('sh', ['-c', '${tidying}'], { detached: true })`),
    },
    // A busy machine takes seconds to start the files.
    { slots: 5, limitMs: 10_000, secondLook: false },
  )
  assert.equal(run.green, false)
  for (const name of ['plain', 'far', 'tidying']) {
    assert.match(
      run.closing.join('\n'),
      new RegExp(`^failed: .*${name}\\.e2e\\.test\\.mjs: did not end within 10 s$`, 'm'),
    )
    assert.equal(isRunning(readPid(run.folder, name)), false, name)
  }
  assert.ok(readdirSync(run.folder).includes('tidied'), 'what waits for the end of a file may tidy up')
})

test('a process that a file leaves behind is ended, and the file fails', async t => {
  const leaving = `
    import { spawn } from 'node:child_process'
    import { writeFileSync } from 'node:fs'
    import { test } from 'node:test'
    test('starts and forgets', () => {
      const child = spawn('sleep', ['600'], { stdio: 'ignore' })
      child.unref()
      writeFileSync(process.env.PLACE + '/pid', String(child.pid))
    })`
  const run = await runFiles(t, { 'leaving.e2e.test.mjs': leaving })
  assert.equal(run.green, false)
  assert.match(run.closing.join('\n'), /^failed: .*leaving\.e2e\.test\.mjs: left processes behind: sleep$/m)
  assert.equal(isRunning(readPid(run.folder)), false)
})

for (const [how, options] of [
  ['a group', `{ detached: true, stdio: 'ignore' }`],
  ['a group and a child', `{ detached: true, stdio: 'ignore' }, ['-c', 'sleep 600 & wait']`],
] as const) {
  test(`a process with ${how} that a file leaves behind is ended, and the file fails`, async t => {
    const leaving = `
      import { spawn } from 'node:child_process'
      import { writeFileSync } from 'node:fs'
      import { test } from 'node:test'
      test('starts and forgets', () => {
        const start = (options, args) => spawn(args ? 'sh' : 'sleep', args ?? ['600'], options)
        const child = start(${options})
        child.unref()
        writeFileSync(process.env.PLACE + '/pid', String(child.pid))
      })`
    const run = await runFiles(t, { 'leaving.e2e.test.mjs': leaving })
    assert.equal(run.green, false)
    assert.match(run.closing.join('\n'), /leaving\.e2e\.test\.mjs: left processes behind: .*sleep/)
    assert.equal(isRunning(readPid(run.folder)), false)
  })
}

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

test('a file that dies of a signal fails, and the message names the signal', async t => {
  const dying = `
    import { test } from 'node:test'
    test('passes before', () => {})
    test('dies', () => process.kill(process.pid, 'SIGKILL'))`
  const run = await runFiles(t, { 'dying.test.mjs': dying })
  assert.equal(run.green, false)
  assert.match(run.closing.join('\n'), /^failed: .*dying\.test\.mjs: ended by SIGKILL$/m)
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

test('a file whose process cannot be started fails, and the run goes on to its end', async t => {
  const node = process.execPath
  process.execPath = '/no/such/node'
  try {
    const run = await runFiles(t, { 'one.test.mjs': passing, 'two.test.mjs': passing })
    assert.equal(run.green, false)
    assert.match(run.closing.join('\n'), /^failed: .*two\.test\.mjs: could not be started: .*ENOENT$/m)
  } finally {
    process.execPath = node
  }
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

for (const [how, statement] of [
  ['a process', `try { spawn('sleep', ['0']) } catch {}`],
  ['a shell', `await promisify(exec)('true').catch(() => {})`],
] as const) {
  test(`a file of the inner ring that starts ${how} fails, even if it catches the error`, async t => {
    const starting = `
      import { exec, spawn } from 'node:child_process'
      import { test } from 'node:test'
      import { promisify } from 'node:util'
      test('starts', async () => { ${statement} })`
    const run = await runFiles(t, { 'starting.test.mjs': starting })
    assert.equal(run.green, false)
    assert.match(run.closing.join('\n'), /^failed: .*starting\.test\.mjs: started a process: /m)
    const other = await runFiles(t, { 'starting.e2e.test.mjs': starting })
    assert.equal(other.green, true)
  })
}

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
