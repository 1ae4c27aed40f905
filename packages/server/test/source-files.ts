import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The checkout's own directory, with a slash at its end. */
export const checkout = fileURLToPath(new URL('../../../', import.meta.url))

export interface SourceFile {
  /** From the checkout's directory. */
  path: string
  text: string
  /** The text without its comments, lines kept. */
  code: string
}

export const readText = (path: string) => readFileSync(checkout + path, 'utf8')

/** What others have written, or a build. */
const notOurs = /(?:^|\/)(?:node_modules|dist|\.next|\.work[^/]*)\//

/** The files that match a pattern, tests left out unless the pattern asks for nothing else. */
export const sourceFiles = (pattern: string): SourceFile[] =>
  globSync(pattern, { cwd: checkout })
    .filter(path => !notOurs.test(path))
    .toSorted()
    .map(path => {
      const text = readText(path)
      return { path, text, code: withoutComments(text) }
    })

/** The files that run in the service: no tests and nothing that only tests start. */
export const serviceFiles = (): SourceFile[] =>
  sourceFiles('packages/server/src/**/*.ts').filter(({ path }) => !/\.test\.ts$|\/test-[^/]*$/.test(path))

/** A string literal, a regular expression that could be taken for one, or a comment. */
const token =
  /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|(?<=[=(,:?]\s*)\/(?![/*])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g

const isComment = (text: string) => text.startsWith('/*') || text.startsWith('//')

const withoutComments = (text: string) =>
  text.replace(token, found => (isComment(found) ? found.replace(/[^\n]/g, ' ') : found))

/** The string literals of a file, without their quotes. A template keeps its `${…}`. */
export const stringsOf = ({ text }: SourceFile): string[] =>
  [...text.matchAll(token)]
    .map(([found]) => found)
    .filter(found => /^['"`]/.test(found))
    .map(found => found.slice(1, -1))

/** What a file imports, as it is written: static, of types, re-exported, and dynamic. */
export const importsOf = ({ code }: SourceFile): string[] =>
  [...code.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)'([^']+)'/g)].map(([, path = '']) => path)

/** How often a string literal of a file names a column, the pieces of the same file that it is put together from included. */
export function mentionsOf(column: string, text: string, { code }: SourceFile): number {
  const pieces = [...code.matchAll(/^const (\w+) =\s*(?:\([^)]*\) =>\s*)?(['`])((?:(?!\2)[^\\]|\\.)*)\2/gm)]
    .filter(([, , , piece = '']) => new RegExp(`\\b${column}\\b`).test(piece))
    .map(([, name = '']) => `\\$\\{${name}\\b`)
  return [...text.matchAll(new RegExp([`\\b${column}\\b`, ...pieces].join('|'), 'g'))].length
}
