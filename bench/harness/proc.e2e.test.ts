import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { cpuSeconds, parseCpuSeconds, parsePeakRssBytes, treeCpuSeconds } from './proc.ts'

test('the peak is VmHWM in bytes', () => {
  assert.equal(
    parsePeakRssBytes('Name:\tnode\nVmPeak:\t 9000 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n'),
    2_097_152,
  )
  assert.throws(() => parsePeakRssBytes('Name:\tkthread\n'), /VmHWM/)
})

test('CPU time is user and system time, for any name of the process', () => {
  const after = 'S 1 2 3 0 -1 4194304 100 0 0 0 250 50 7 13 20 0 11 0'
  const seconds = { own: 3, endedChildren: 0.2 }
  assert.deepEqual(parseCpuSeconds(`42 (node) ${after}`), seconds)
  assert.deepEqual(parseCpuSeconds(`42 (a) b (c) ${after}`), seconds)
  assert.throws(() => parseCpuSeconds('42 (node) S'), /CPU times/)
})

/** Uses the processor for some ticks, in a separate child if asked, and says so on standard output. */
const burning = (inChild: boolean) => `
  const burn = () => { while (process.cpuUsage().user < 200_000); }
  if (${inChild}) require('node:child_process').execFileSync(process.execPath, ['-e', '(' + burn + ')()'])
  else burn()
  console.log('burnt')
  setInterval(() => {}, 1000)`

test('the time of a tree counts the process, its children and those that have ended', async () => {
  for (const inChild of [false, true]) {
    const child = spawn(process.execPath, ['-e', burning(inChild)], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      await once(child.stdout, 'data')
      const pid = child.pid ?? 0
      assert.ok(treeCpuSeconds(pid) >= 0.19)
      // This process is the parent: what it has not used itself is in its child, which is alive.
      assert.ok(treeCpuSeconds(process.pid) >= cpuSeconds(process.pid) + cpuSeconds(pid))
    } finally {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
  }
})
