import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

/** How one test file ended. A skipped or unfinished test counts as failed. */
export interface FileResult {
  readonly passed: number
  readonly failed: number
  readonly seconds: number
  /** Names of the tests that passed. */
  readonly names: readonly string[]
}

export interface RunOptions {
  /** Files that run side by side; one more than there are cores by default. */
  readonly concurrency?: number
  /** Takes the report as it is written; standard output by default. */
  readonly print?: (text: string) => void
}

/** Runs test files, a process each. @returns how each ended, by its path from the working directory. */
export async function runFiles(
  files: readonly string[],
  { concurrency = availableParallelism() + 1, print = text => process.stdout.write(text) }: RunOptions = {},
): Promise<Map<string, FileResult>> {
  const results = new Map<string, FileResult>()
  const namesIn = new Map<string, string[]>()
  const failing = new Set<string>()
  const stream = run({ files: [...files], concurrency, timeout: 300_000 })
  stream.on('test:pass', ({ name, file, skip, todo }) => {
    if (file === undefined || skip !== undefined || todo !== undefined) return
    const path = relative(process.cwd(), file)
    namesIn.set(path, [...(namesIn.get(path) ?? []), name])
  })
  stream.on('test:fail', ({ file }) => {
    if (file !== undefined) failing.add(relative(process.cwd(), file))
  })
  stream.on('test:summary', ({ file, counts, duration_ms }) => {
    if (file === undefined) return
    const { passed } = counts
    results.set(relative(process.cwd(), file), {
      passed,
      failed: counts.tests - passed,
      seconds: duration_ms / 1_000,
      names: [],
    })
  })
  for await (const chunk of stream.compose(new spec())) print(String(chunk))
  for (const file of files) {
    const result = results.get(file)
    // A file whose process ends badly fails as a whole, even when each of its tests passed.
    const failed =
      result === undefined || failing.has(file) ? Math.max(result?.failed ?? 0, 1) : result.failed
    results.set(file, {
      passed: result?.passed ?? 0,
      failed,
      seconds: result?.seconds ?? 0,
      names: namesIn.get(file) ?? [],
    })
  }
  return results
}

export const failedFiles = (results: ReadonlyMap<string, FileResult>): string[] =>
  [...results].filter(([, { failed }]) => failed > 0).map(([file]) => file)
