import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { passing, runFiles } from './run-files.ts'

const isRunning = (pid: number): boolean => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
const readPid = (folder: string, name = 'pid'): number => Number(readFileSync(join(folder, name), 'utf8'))

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

test('a file that dies of a signal fails, and the message names the signal', async t => {
  const dying = `
    import { test } from 'node:test'
    test('passes before', () => {})
    test('dies', () => process.kill(process.pid, 'SIGKILL'))`
  const run = await runFiles(t, { 'dying.test.mjs': dying })
  assert.equal(run.green, false)
  assert.match(run.closing.join('\n'), /^failed: .*dying\.test\.mjs: ended by SIGKILL$/m)
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
