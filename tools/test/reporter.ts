import type { TestEvent } from 'node:test/reporters'

/** One ended test as a line of JSON. Suites are no tests. */
export interface TestLine {
  readonly name: string
  /** A skipped or unfinished test counts as failed. */
  readonly passed: boolean
}

/** A reporter for `node --test-reporter`: a line for each test that ended. */
async function* lines(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.details.type === 'suite') continue
    const passed = type === 'test:pass' && data.skip === undefined && data.todo === undefined
    const line: TestLine = { name: data.name, passed }
    yield `${JSON.stringify(line)}\n`
  }
}

// biome-ignore lint/style/noDefaultExport: Node takes a reporter by its default export
export { lines as default }
