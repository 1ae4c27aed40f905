import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { loadCases } from './case.ts'

const main = join(import.meta.dirname, 'main.ts')
const sdk = join(import.meta.dirname, 'sdk-driver.ts')
const folder = mkdtempSync(join(tmpdir(), 'keyrail-drivers-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const run = (...args: string[]): Promise<{ code: number; printed: string }> =>
  new Promise(resolve => {
    execFile(process.execPath, [main, ...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), printed: stdout + stderr }),
    )
  })

/** A driver that gives this to each command. */
function driver(name: string, body: string): string {
  const path = join(folder, `${name}.mjs`)
  writeFileSync(
    path,
    `import { createInterface } from 'node:readline'
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  const answer = (${body})(command)
  console.log(JSON.stringify({ id: command.id, ...answer }))
}`,
  )
  return path
}

test('the driver of the SDK passes all cases as a process', async () => {
  const { code, printed } = await run('--', process.execPath, sdk)
  assert.equal(printed, `${loadCases().length} passed, 0 failed, 0 skipped\n`)
  assert.equal(code, 0)
})

test('a node that takes every key for valid fails, and the output says where', async () => {
  const generous = driver(
    'generous',
    `({ op }) => op === 'poll' ? { outcome: 'snapshot' } : { code: 'valid' }`,
  )
  const { code, printed } = await run('--only', 'no key, before', '--', process.execPath, generous)
  assert.equal(code, 1)
  assert.equal(
    printed,
    `FAILED no key, before and after the node serves (cases/forms.json)
    step 1, verify: code: expected "missing_key", got "valid"
    the case ended at step 1
0 passed, 1 failed, 0 skipped
`,
  )
})

test('cases with a command that a driver does not have are skipped, and counted', async () => {
  const bare = driver('bare', `({ op }) => op === 'open' ? {} : { unsupported: true }`)
  const { code, printed } = await run('--only', 'usages', '--', process.execPath, bare)
  const { length } = loadCases().filter(({ file }) => file === 'usages.json')
  assert.equal(
    printed,
    `skipped ${length}: the driver does not support poll\n0 passed, 0 failed, ${length} skipped\n`,
  )
  assert.equal(code, 0)
})

test('a driver that ends is started again, and what it wrote is shown', async () => {
  const dying = driver('dying', `() => { console.error('no more'); process.exit(3) }`)
  const { code, printed } = await run('--only', 'malformed: a word', '--', process.execPath, dying)
  assert.equal(code, 1)
  assert.match(printed, /the driver ended with 3\n {4}\| no more\n0 passed, 1 failed, 0 skipped/)
})

test('a wrong command line and a program that does not exist are told', async () => {
  for (const args of [[], ['--'], ['--only', '--', 'x'], ['--oly', 'a', '--', 'x']]) {
    const { code, printed } = await run(...args)
    assert.equal(code, 2)
    assert.match(
      printed,
      /^usage: node clients\/conformance\/main\.ts \[--only NAME\] -- PROGRAM ARGUMENTS\n$/,
    )
  }
  assert.match(
    (await run('--only', 'no such case', '--', 'x')).printed,
    /no case has no such case in its name/,
  )
  const { code, printed } = await run('--only', 'malformed: a word', '--', join(folder, 'none'))
  assert.equal(code, 1)
  assert.match(printed, /the driver cannot be started: spawn .* ENOENT/)
})
