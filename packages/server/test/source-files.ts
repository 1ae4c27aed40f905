import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The directory of the checkout, with a slash at its end. */
export const checkout = fileURLToPath(new URL('../../../', import.meta.url))

export interface SourceFile {
  /** Relative to the checkout. */
  path: string
  text: string
  /** The text without its comments, with the same lines. */
  code: string
}

export const readText = (path: string) => readFileSync(checkout + path, 'utf8')

/** Dependencies, builds, and the types of packages, which `npm run build` writes. */
const notOurs = /(?:^|\/)(?:node_modules|dist|\.next|\.work[^/]*)\/|^packages\/\w+\/types\//

/** The files that match a pattern. Tests are left out unless the pattern only matches tests. */
export const sourceFiles = (pattern: string): SourceFile[] =>
  globSync(pattern, { cwd: checkout })
    .filter(path => !notOurs.test(path))
    .toSorted()
    .map(path => {
      const text = readText(path)
      return { path, text, code: withoutComments(text) }
    })

/** The files that run in the service: no tests, and nothing that only tests start. */
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

/** The paths that a file imports: static, type-only, re-exported and dynamic. */
export const importsOf = ({ code }: SourceFile): string[] =>
  [...code.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)'([^']+)'/g)].map(([, path = '']) => path)

/** How often a string literal of a file names a column, including constants of the same file that it contains. */
export function mentionsOf(column: string, text: string, { code }: SourceFile): number {
  const pieces = [...code.matchAll(/^const (\w+) =\s*(?:\([^)]*\) =>\s*)?(['`])((?:(?!\2)[^\\]|\\.)*)\2/gm)]
    .filter(([, , , piece = '']) => new RegExp(`\\b${column}\\b`).test(piece))
    .map(([, name = '']) => `\\$\\{${name}\\b`)
  return [...text.matchAll(new RegExp([`\\b${column}\\b`, ...pieces].join('|'), 'g'))].length
}
