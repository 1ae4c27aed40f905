import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCpuSeconds, parsePeakRssBytes } from './proc.ts'

test('the peak is VmHWM in bytes', () => {
  assert.equal(
    parsePeakRssBytes('Name:\tnode\nVmPeak:\t 9000 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n'),
    2_097_152,
  )
  assert.throws(() => parsePeakRssBytes('Name:\tkthread\n'), /VmHWM/)
})

test('CPU time is user and system time, whatever the process is called', () => {
  const after = 'S 1 2 3 0 -1 4194304 100 0 0 0 250 50 7 7 20 0 11 0'
  assert.equal(parseCpuSeconds(`42 (node) ${after}`), 3)
  assert.equal(parseCpuSeconds(`42 (a) b (c) ${after}`), 3)
  assert.throws(() => parseCpuSeconds('42 (node) S'), /CPU times/)
})
