import type { Quarantined } from './quarantine.ts'
import { type FileResult, hasFailed } from './run-file.ts'

/** More unsteady files than this are no chance: the tests are sick. */
export const unsteadyMax = 8
/** With more failed files than this, none is looked at again: it is no chance, and would take as long as the run. */
const secondLooksMax = 24

/** Without the failures of quarantined tests. */
export function withoutQuarantined(result: FileResult, entries: readonly Quarantined[]): FileResult {
  const own = new Set(entries.flatMap(({ file, test }) => (file === result.file ? [test] : [])))
  return own.size === 0 ? result : { ...result, failed: result.failed.filter(name => !own.has(name)) }
}

/** A file that failed first and passed alone. */
interface Unsteady {
  readonly first: FileResult
  readonly second: FileResult
}

export interface SecondLooks {
  readonly unsteady: readonly Unsteady[]
  /** Failed both times, or were not looked at again. */
  readonly failed: readonly FileResult[]
  /** The second results, by the first. */
  readonly second: ReadonlyMap<FileResult, FileResult>
}

/** The results that count: of a file that ran again, the second one. */
export const finalResults = (results: readonly FileResult[], { second }: Pick<SecondLooks, 'second'>) =>
  results.map(one => second.get(one) ?? one)

/** Runs each failed file once more, alone, one after the other. Its second result counts. */
export async function lookAgain(
  results: readonly FileResult[],
  again: (file: string) => Promise<FileResult>,
  mayBegin: () => boolean,
): Promise<SecondLooks> {
  const first = results.filter(hasFailed)
  const looks = new Map<FileResult, FileResult>()
  if (first.length > secondLooksMax) return { unsteady: [], failed: first, second: looks }
  const unsteady: Unsteady[] = []
  const failed: FileResult[] = []
  for (const result of first) {
    if (!mayBegin()) {
      failed.push(result)
      continue
    }
    const second = await again(result.file)
    looks.set(result, second)
    if (hasFailed(second)) failed.push(second)
    else unsteady.push({ first: result, second })
  }
  return { unsteady, failed, second: looks }
}
