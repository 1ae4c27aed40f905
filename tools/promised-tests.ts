import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readMet } from '../docs/asvs-met.ts'

/** A test that a page names as proof. */
export interface PromisedTest {
  /** Paths of the page and the test file, from the checkout's directory. */
  readonly page: string
  readonly file: string
  /** The name, or the literal part of a name that the test composes. */
  readonly name: string
}

const metPath = 'docs/asvs-met.csv'

/** Every `[label](path/to/a.test.ts) "name of the test"` of the pages, and the tests of requirements that are met. */
export const promisedTests = (): PromisedTest[] => [
  ...globSync(['*.md', 'docs/**/*.md', 'packages/sdk/*.md']).flatMap(page =>
    promisesOf(page, readFileSync(page, 'utf8')),
  ),
  ...readMet(readFileSync(metPath, 'utf8')).flatMap(({ tests }) =>
    tests.map(test => ({ page: metPath, ...test })),
  ),
]

export const promisesOf = (page: string, text: string): PromisedTest[] =>
  [...text.matchAll(/\]\(([^)#]+\.test\.ts)\) "([^"]+)"/g)].map(([, path = '', name = '']) => ({
    page,
    file: join(dirname(page), path),
    name,
  }))

/**
 * @param files the files of the run; promises about other files are not judged
 * @param passed names of the passed tests, by file
 * @returns the promises whose test did not run or pass
 */
export const notKept = (
  promises: readonly PromisedTest[],
  files: readonly string[],
  passed: ReadonlyMap<string, readonly string[]>,
): PromisedTest[] =>
  promises.filter(
    ({ file, name }) => files.includes(file) && !passed.get(file)?.some(own => own.includes(name)),
  )
