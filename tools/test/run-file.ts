import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { markVariable } from '../../packages/server/test/mark.ts'
import { countChildrenCpu, endLeftovers, type Family, killLeader } from './process-group.ts'
import type { ReportLine } from './reporter.ts'
import { tailOf } from './tail.ts'

export interface FileRun {
  readonly file: string
  readonly limitMs: number
  /** Whether a process that the file starts makes it fail. */
  readonly startsNothing: boolean
  /** Takes what the file prints, and is made if need be. */
  readonly folder: string
}

/** How one test file ended. */
export interface FileResult {
  readonly file: string
  /** Names of the tests that passed, and of those that failed. */
  readonly passed: readonly string[]
  readonly failed: readonly string[]
  /** What is wrong with the file as a whole: not ended, nothing run, a process left. */
  readonly faults: readonly string[]
  readonly seconds: number
  /** Its process, and the children that it waited for. */
  readonly cpuSeconds: number
  /** The path of the file with everything that it printed. */
  readonly output: string
}

export const hasFailed = ({ failed, faults }: FileResult): boolean => failed.length + faults.length > 0

const modulePath = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const running = new Set<Family>()
const cpuOfEnded = countChildrenCpu()

/** Ends all files that run, with what they started. */
export function endAll(): void {
  for (const family of running) killLeader(family)
}

/** Runs a test file in its own process group, and ends with it what it started, in whatever group. */
export async function runFile({ file, limitMs, startsNothing, folder }: FileRun): Promise<FileResult> {
  mkdirSync(folder, { recursive: true })
  const place = join(folder, file.replaceAll(/[^A-Za-z0-9.-]/g, '_'))
  const [output, events, starts] = [`${place}.log`, `${place}.events`, `${place}.starts`]
  for (const old of [events, starts]) rmSync(old, { force: true })
  const printed = openSync(output, 'w')
  const began = performance.now()
  const end = await runToEnd(file, {
    args: argumentsFor(events, startsNothing),
    env: { ...process.env, KEYRAIL_TEST_STARTS: starts, [markVariable]: place },
    mark: place,
    printed,
    limitMs,
  }).finally(() => closeSync(printed))
  const lines = readLines(events).map((line): ReportLine => JSON.parse(line))
  const tests = lines.flatMap(line => (line.kind === 'test' ? [line] : []))
  const failed = tests.flatMap(line => (line.passed ? [] : [line.name]))
  const faults = [
    ...end.faults,
    ...faultsOfReport(lines, end.code),
    ...new Set(readLines(starts).map(start => `started a process: ${start}`)),
  ]
  for (const old of [events, starts]) rmSync(old, { force: true })
  const passed = tests.flatMap(line => (line.passed ? [line.name] : []))
  const seconds = (performance.now() - began) / 1_000
  return { file, passed, failed, faults, seconds, cpuSeconds: end.cpuSeconds, output }
}

interface Start {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Marks what the file starts. */
  readonly mark: string
  /** Takes what the file prints: a descriptor. */
  readonly printed: number
  readonly limitMs: number
}

interface End {
  /** None when a signal ended it, or it did not start. */
  readonly code: number | null
  readonly cpuSeconds: number
  readonly faults: readonly string[]
}

async function runToEnd(file: string, { args, env, mark, printed, limitMs }: Start): Promise<End> {
  // What ended before, such as a build, is not this file's.
  if (running.size === 0) cpuOfEnded()
  const child = spawn(process.execPath, [...args, file], {
    detached: true,
    stdio: ['ignore', printed, printed],
    env,
  })
  if (child.pid === undefined) {
    const [error] = await once(child, 'error')
    return { code: null, cpuSeconds: 0, faults: [`could not be started: ${error.message}`] }
  }
  const family: Family = { leader: child.pid, mark, known: [] }
  running.add(family)
  let late = false
  const timer = setTimeout(() => {
    late = true
    killLeader(family)
  }, limitMs)
  const [code, signal]: (number | string | null)[] = await once(child, 'exit')
  const cpuSeconds = cpuOfEnded()
  clearTimeout(timer)
  const left = await endLeftovers(family)
  running.delete(family)
  const faults = [
    ...(late ? [`did not end within ${limitMs / 1_000} s`] : []),
    ...(!late && signal !== null ? [`ended by ${signal}`] : []),
    ...(!late && left.length > 0 ? [`left processes behind: ${left.join(', ')}`] : []),
  ]
  return { code: typeof code === 'number' ? code : null, cpuSeconds, faults }
}

/** What is wrong although each test that ended may have passed. */
function faultsOfReport(lines: readonly ReportLine[], code: number | null): string[] {
  if (code === null) return []
  const suites = lines.flatMap(line => (line.kind === 'suite' ? [`the suite "${line.name}" failed`] : []))
  const isWhole = lines.at(-1)?.kind === 'end'
  if (code !== 0) {
    const isExplained = isWhole && lines.some(({ passed }) => !passed)
    return [...suites, ...(isExplained ? [] : [`exited with ${code}`])]
  }
  if (!lines.some(({ kind }) => kind === 'test')) return ['has no test']
  return isWhole ? suites : [...suites, 'exited before its tests had ended']
}

function argumentsFor(events: string, startsNothing: boolean): string[] {
  return [
    // As in the checkout: the sources of the packages, not what a build made of them.
    '--conditions=keyrail-source',
    ...(startsNothing ? ['--import', modulePath('no-processes.ts')] : []),
    ...['--test-reporter', 'spec', '--test-reporter-destination', 'stdout'],
    ...['--test-reporter', modulePath('reporter.ts'), '--test-reporter-destination', events],
  ]
}

/** A killed process may have left half of its last line. */
function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(0, -1)
  } catch {
    return []
  }
}

/** The last lines that a file printed, where the reporter says which tests failed. */
export const lastLines = ({ output }: FileResult): string => tailOf(output, 16 * 1_024)
