import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { bench as sameTwice } from '../g0-same-twice.ts'
import type { Arm, Bench, BenchRun } from './bench.ts'
import { ended, tail } from './children.ts'
import type { Machine } from './machine.ts'
import { formatReport, type Report } from './report.ts'
import { runBench } from './run-bench.ts'

const MACHINE: Machine = { node: 'v24', cpu: 'test', cpuCount: 2, pinned: true, loadAverage: 0, fsync: null }
/** Long enough for an answer on a busy machine: a turn without any has no rate. */
const SHORT = { rounds: 2, seconds: 2, warmUpSeconds: 1, quick: true }
const steady = (name: string, role: Arm['role'], value = 1): Arm => ({
  name,
  role,
  measure: async () => value,
})

function benchOf(arms: Bench['arms']): Bench {
  return {
    name: 'G99',
    title: 'fixture',
    goal: { metric: 'x', direction: 'at least', floor: 0.5, moonshot: 0.9 },
    arms,
  }
}

test('one bare Fastify under two names gives two full series and one judged ratio', async () => {
  const report = await runBench(sameTwice, SHORT, MACHINE)
  assert.deepEqual(Object.keys(report.series).sort(), ['one', 'other'])
  for (const arm of ['one', 'other']) {
    const rates = report.series[arm]?.['requests/s'] ?? []
    assert.equal(rates.length, SHORT.rounds)
    assert.ok(rates.every(rate => rate > 0))
  }
  const [line] = report.comparisons
  assert.ok(line?.goal)
  assert.ok(line.interval.low <= line.median && line.median <= line.interval.high)
  assert.ok(report.steal === null || (report.steal >= 0 && report.steal <= 1))

  const text = formatReport(report)
  for (const part of [
    'metric',
    '95 % interval',
    'floor',
    'moonshot',
    'control spread',
    'steal',
    'fsync',
    'verdict: ',
  ]) {
    assert.ok(text.includes(part), `${part} in\n${text}`)
  }
})

test('a bench without its control fails before anything is measured', async () => {
  let measured = 0
  const subject: Arm = { name: 'keyrail', role: 'subject', measure: async () => measured++ }
  await assert.rejects(
    runBench(
      benchOf(async () => [subject]),
      SHORT,
      MACHINE,
    ),
    /no control/,
  )
  assert.equal(measured, 0)
})

test('arms with unequal answers fail, and what the bench opened is closed', async () => {
  let open = 0
  const answering = (name: string, role: Arm['role']): Arm => ({
    name,
    role,
    measure: async () => ({ values: { x: 1 }, answer: name }),
  })
  const bench = benchOf(async (run: BenchRun) => {
    open++
    await run.use({ close: () => void open-- })
    return [answering('keyrail', 'subject'), answering('bare', 'control')]
  })
  await assert.rejects(runBench(bench, SHORT, MACHINE), /disagree/)
  assert.equal(open, 0)
})

test('a run of six even rounds is judged, notes and doubts are reported', async () => {
  const doubting: Arm = {
    name: 'bare',
    role: 'control',
    measure: async () => ({ values: { x: 2 }, doubt: 'the moon is full' }),
  }
  const bench = benchOf(async run => {
    run.note('rows: 42')
    return [steady('keyrail', 'subject', 1.9), doubting]
  })
  const report = await runBench(bench, { ...SHORT, rounds: 6 }, MACHINE)
  assert.equal(report.verdict, 'met')
  assert.ok(report.reasons.includes('the moon is full (6 of 12 turns)'))
  assert.match(formatReport(report), /^rows: 42\ndoubt: .*the moon is full \(6 of 12 turns\)/m)

  const refused = await runBench(bench, { ...SHORT, rounds: 6, quick: false }, MACHINE)
  assert.equal(refused.verdict, 'unstable')
})

test('an interruption ends the run at once and closes what is open', async () => {
  const interrupt = new AbortController()
  let closed = 0
  const endless: Arm = {
    name: 'bare',
    role: 'control',
    measure: () => {
      interrupt.abort(new Error('interrupted'))
      return new Promise(() => {})
    },
  }
  const bench = benchOf(async run => {
    await run.use({ close: () => void closed++ })
    return [steady('keyrail', 'subject'), endless]
  })
  await assert.rejects(runBench(bench, SHORT, MACHINE, { signal: interrupt.signal }), /interrupted/)
  assert.equal(closed, 1)
})

async function commandLine(...args: string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'run.ts'), ...args])
  const [output, errors] = [tail(child.stdout, Number.POSITIVE_INFINITY), tail(child.stderr)]
  const { code } = await ended(child)
  return { code, output: output(), errors: errors() }
}

test('the command line lists benches, refuses unknown ones, and prints a report as JSON', async () => {
  const list = await commandLine()
  assert.equal(list.code, 0)
  assert.match(list.output, /^G0 .*bench\/g0-same-twice\.ts$/m)

  const unknown = await commandLine('g999')
  assert.deepEqual([unknown.code, unknown.output, unknown.errors], [1, '', 'no bench is called g999'])

  const run = await commandLine('g0', '--rounds', '2', '--seconds', '2', '--warm-up', '1', '--json')
  assert.notEqual(run.output, '', run.errors)
  const report: Report = JSON.parse(run.output)
  // Two rounds are too few, so without --quick the run is refused even on a quiet machine.
  assert.deepEqual([run.code, report.verdict, report.name], [2, 'unstable', 'G0'])
})
