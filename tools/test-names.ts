import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A test name states a guarantee in fewer characters than this. `npm run check` reads every test. */
export const testNameLengthMax = 89

/** The literal names that are longer. A part that is filled in counts as it is written. */
export function longNamesIn(text: string): { line: number; name: string }[] {
  return [...text.matchAll(/\btest\(\s*(['`])((?:(?!\1)[^\\]|\\.)*)\1/g)]
    .map(({ index, 2: name = '' }) => ({ line: text.slice(0, index).split('\n').length, name }))
    .filter(({ name }) => name.length > testNameLengthMax)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const checkout = fileURLToPath(new URL('..', import.meta.url))
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: checkout,
    encoding: 'utf8',
  })
  const tests = listed.split('\n').filter(path => /\.test\.m?[jt]s$/.test(path))
  const found = tests.flatMap(path =>
    longNamesIn(readFileSync(checkout + path, 'utf8')).map(({ line, name }) => `${path}:${line}  ${name}`),
  )
  for (const one of found) console.log(one)
  if (found.length > 0)
    console.log(`${found.length} names of tests with more than ${testNameLengthMax} characters`)
  process.exitCode = found.length === 0 ? 0 : 1
}
