import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { countChildrenCpu, endLeftovers, killGroup } from './process-group.ts'
import type { TestLine } from './reporter.ts'
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
const running = new Set<ChildProcess>()
const cpuOfEnded = countChildrenCpu()

/** Ends all files that run, with what they started. */
export function endAll(): void {
  for (const { pid } of running) if (pid !== undefined) killGroup(pid)
}

/** Runs a test file in its own process group, and ends the whole group with it. */
export async function runFile({ file, limitMs, startsNothing, folder }: FileRun): Promise<FileResult> {
  mkdirSync(folder, { recursive: true })
  const place = join(folder, file.replaceAll(/[^A-Za-z0-9.-]/g, '_'))
  const [output, events, starts] = [`${place}.log`, `${place}.events`, `${place}.starts`]
  for (const old of [events, starts]) rmSync(old, { force: true })
  const printed = openSync(output, 'w')
  const began = performance.now()
  // What ended before, such as a build, is not this file's.
  if (running.size === 0) cpuOfEnded()
  const child = spawn(process.execPath, [...argumentsFor(events, startsNothing), file], {
    detached: true,
    stdio: ['ignore', printed, printed],
    env: { ...process.env, KEYRAIL_TEST_STARTS: starts },
  })
  closeSync(printed)
  running.add(child)
  let late = false
  const timer = setTimeout(() => {
    late = true
    killGroup(child.pid ?? 0)
  }, limitMs)
  const [code, signal]: [number | null, string | null] = await exitOf(child)
  const cpuSeconds = cpuOfEnded()
  clearTimeout(timer)
  running.delete(child)
  const left = late || child.pid === undefined ? [] : await endLeftovers(child.pid)
  const lines = readLines(events).map((line): TestLine => JSON.parse(line))
  const failed = lines.flatMap(line => (line.passed ? [] : [line.name]))
  const faults = [
    ...(late ? [`did not end within ${limitMs / 1_000} s`] : []),
    ...(!late && signal !== null ? [`ended by ${signal}`] : []),
    ...(code !== 0 && code !== null && failed.length === 0 ? [`exited with ${code}`] : []),
    ...(lines.length === 0 && !late && code === 0 ? ['has no test'] : []),
    ...(left.length > 0 ? [`left processes behind: ${left.join(', ')}`] : []),
    ...new Set(readLines(starts).map(start => `started a process: ${start}`)),
  ]
  for (const old of [events, starts]) rmSync(old, { force: true })
  const passed = lines.flatMap(line => (line.passed ? [line.name] : []))
  const seconds = (performance.now() - began) / 1_000
  return { file, passed, failed, faults, seconds, cpuSeconds, output }
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

async function exitOf(child: ChildProcess): Promise<[number | null, string | null]> {
  const [code, signal] = await once(child, 'exit')
  return [code, signal]
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
