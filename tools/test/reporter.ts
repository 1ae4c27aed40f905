import type { TestEvent } from 'node:test/reporters'

/** A line of JSON in the report of a test file. */
export type ReportLine =
  /** A test that ended. A skipped or unfinished one counts as failed. */
  | { readonly kind: 'test'; readonly name: string; readonly passed: boolean }
  /** A suite that failed by itself, such as by a hook, and not by its tests. */
  | { readonly kind: 'suite'; readonly name: string; readonly passed: false }
  /** The last line: the file did not exit before its tests had ended. */
  | { readonly kind: 'end'; readonly passed: true }

/** A reporter for `node --test-reporter`. */
async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    const line = lineOf(event)
    if (line !== undefined) yield `${JSON.stringify(line)}\n`
  }
  yield `${JSON.stringify({ kind: 'end', passed: true } satisfies ReportLine)}\n`
}

function lineOf({ type, data }: TestEvent): ReportLine | undefined {
  if (type !== 'test:pass' && type !== 'test:fail') return undefined
  const { name } = data
  if (data.details.type !== 'suite') {
    return {
      kind: 'test',
      name,
      passed: type === 'test:pass' && data.skip === undefined && data.todo === undefined,
    }
  }
  const failed = type === 'test:fail' && !isOfTests(data.details.error)
  return failed ? { kind: 'suite', name, passed: false } : undefined
}

const isOfTests = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  'failureType' in error &&
  error.failureType === 'subtestsFailed'

// biome-ignore lint/style/noDefaultExport: Node takes a reporter by its default export
export { report as default }
