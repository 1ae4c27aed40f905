import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { FAST_PLACE } from '../../../../test/embedded-service.ts'
import { lockDirectory } from './lock.ts'
import { startOf } from './processes.ts'
import { DirectoryHeld } from './refusal.ts'

let temp: string
let directory: string
let count = 0
before(() => {
  temp = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
})
beforeEach(() => {
  count += 1
  directory = join(temp, String(count))
  mkdirSync(directory)
})
after(() => rmSync(temp, { recursive: true, force: true }))

/** A process that takes the lock, prints "held" or the reason, and keeps it until it is killed. */
function holder(machine?: string): { child: ChildProcess; said: Promise<string> } {
  const script = `
    import { lockDirectory } from ${JSON.stringify(import.meta.resolve('./lock.ts'))}
    const [directory, machine] = process.argv.slice(1)
    setInterval(() => {}, 60_000)
    await lockDirectory(directory, machine || undefined).then(() => console.log('held'), error => console.log(error.message))`
  const args = ['--input-type=module', '-e', script, directory, machine ?? '']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = once(child.stdout, 'data').then(([text]) => String(text).trim())
  return { child, said }
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'close')
}

test('a second holder is refused with the pid of the first, in any process', async () => {
  const { child, said } = holder()
  assert.equal(await said, 'held')
  await assert.rejects(lockDirectory(directory), {
    name: 'EmbeddedRefused',
    message: new RegExp(`^Process ${child.pid} `),
  })
  await kill(child)
  const lock = await lockDirectory(directory)
  await assert.rejects(lockDirectory(directory), { message: new RegExp(`^Process ${process.pid} `) })
  lock.release()
  const again = await lockDirectory(directory)
  again.release()
})

test('of many that start at once on a killed one’s lock, exactly one gets it', async () => {
  const killed = holder()
  await killed.said
  await kill(killed.child)
  const many = Array.from({ length: 6 }, () => holder())
  const answers = await Promise.all(many.map(({ said }) => said))
  assert.equal(answers.filter(answer => answer === 'held').length, 1, answers.join('\n'))
  await Promise.all(many.map(({ child }) => kill(child)))
})

test('a killed process’s lock is free even if another process has its pid', async () => {
  const lock = await lockDirectory(directory)
  lock.release()
  const [name = ''] = readdirSync(directory)
  const { released, ...held } = JSON.parse(readFileSync(join(directory, name), 'utf8'))
  assert.equal(released, true)
  writeFileSync(join(directory, name), JSON.stringify({ ...held, start: 'earlier' }))
  const again = await lockDirectory(directory)
  again.release()
})

test('a holder in another container keeps its lock while it shows signs of life', async () => {
  const { child, said } = holder('elsewhere')
  await said
  await assert.rejects(lockDirectory(directory), {
    message: /in another container or on another machine, already runs/,
  })
  await kill(child)
})

test('a holder whose clock is an hour behind or ahead keeps its lock', async () => {
  const path = join(directory, 'service.lock.3')
  writeFileSync(path, JSON.stringify({ pid: 1, start: 'any', machine: 'elsewhere' }))
  for (const hours of [-1, 1]) {
    const from = Date.now() + hours * 3_600_000
    let beats = 0
    const beating = setInterval(() => {
      beats += 1
      utimesSync(path, new Date(from + beats), new Date(from + beats))
    }, 50)
    await assert.rejects(lockDirectory(directory), DirectoryHeld).finally(() => clearInterval(beating))
  }
})

test('a silent holder in another container has gone, even if its pid lives here', async () => {
  const path = join(directory, 'service.lock.3')
  writeFileSync(path, JSON.stringify({ pid: process.pid, start: startOf(process.pid), machine: 'elsewhere' }))
  const longAgo = new Date(Date.now() - 60_000)
  utimesSync(path, longAgo, longAgo)
  const lock = await lockDirectory(directory)
  assert.deepEqual(readdirSync(directory), ['service.lock.4'])
  lock.release()
})

test('a lock file that a full disk has cut off holds nothing', async () => {
  writeFileSync(join(directory, 'service.lock.1'), '{"pid":')
  const lock = await lockDirectory(directory)
  lock.release()
})
