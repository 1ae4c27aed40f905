import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { closingLines, isGreen } from './closing.ts'
import { makeProgress } from './progress.ts'
import type { Quarantined } from './quarantine.ts'
import { type RunOptions, type RunResults, runTests } from './run.ts'

/** Texts of test files. */
export const passing = `import { test } from 'node:test'; test('holds', () => {})`
export const failing = `import { test } from 'node:test'; test('does not hold', () => { throw new Error('as planted') })`

interface Ran extends RunResults {
  readonly folder: string
  readonly printed: string
  readonly closing: readonly string[]
  readonly green: boolean
}

/** Runs files of a new folder, whose texts find it in `process.env.PLACE`. */
export async function runFiles(
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
