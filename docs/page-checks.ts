import { execFileSync } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { anchorsOf, checkout, proseOf, readDocument, tableOf } from './documents.ts'

/** What a page says about the repository, checked against the repository. Each check returns the faults of one page. */
export interface Page {
  path: string
  text: string
}
export type Check = (page: Page) => string[]

const inCheckout = (path: string) => existsSync(join(checkout, path))
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: checkout,
  encoding: 'utf8',
}).split('\n')
/** The files that a script of a package runs; undefined if the package has no script of this name. */
const filesOfScript = (name: string, folder: string): string[] | undefined => {
  const path = join(folder, 'package.json')
  const { scripts = {} } = inCheckout(path) ? JSON.parse(readDocument(path)) : {}
  return (scripts as Record<string, string>)[name]
    ?.split(' ')
    .filter(word => /\.m?[jt]s$/.test(word))
    .map(file => join(folder, file))
}

const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found = '']) => found)

const codeOf = ({ text }: Page): string =>
  [...text.matchAll(/^```[\s\S]*?^```$|`[^`\n]+`/gm)].map(([code]) => code).join('\n')

export const linksOf = ({ text }: Page): string[] => all(proseOf(text), /\]\(([^)\s]+)\)/g)

/** The page that a link leads to, from the checkout's directory. */
export const targetOf = (page: Page, link: string): string => {
  const [file = ''] = link.split('#')
  return file === '' ? page.path : normalize(join(dirname(page.path), file))
}

export const brokenLinks: Check = page =>
  linksOf(page).filter(link => {
    if (/^https?:/.test(link)) return false
    const [, anchor] = link.split('#')
    const found = targetOf(page, link)
    if (found !== page.path && !inCheckout(found)) return true
    if (anchor === undefined) return false
    return !anchorsOf(found === page.path ? page.text : readDocument(found)).includes(anchor)
  })

const isThere = (named: string): boolean => {
  const [plain = ''] = named.split('*')
  const found = named.includes('*') ? plain.slice(0, plain.lastIndexOf('/') + 1) : named
  return inCheckout(found) && (!found.endsWith('/') || statSync(join(checkout, found)).isDirectory())
}

/** Paths from the checkout's directory, in a sentence or in a command. */
export const missingPaths: Check = page =>
  all(
    codeOf(page),
    /(?:^|[\s`"'(])((?:\.ci|bench|bin|docs|drills|examples|packages|tools)\/[\w./*-]*\w[/*]?)/gm,
  ).filter(named => !isThere(named))

/** Files by the end of their path: `actions.ts`, `gate/right.ts`. The pages of the SDK name files of their readers too. */
export const missingFiles: Check = page =>
  page.path.startsWith('docs/sdk/')
    ? []
    : all(page.text, /`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs|sql|json|sh))`/g).filter(
        named => !tracked.some(path => path === named || path.endsWith(`/${named}`)),
      )

/** Scripts of npm that are not there, or that run a file that is not there. */
export const missingScripts: Check = ({ text }) =>
  [...text.matchAll(/\bnpm (?:run )?(start|test|(?<=run )[\w:-]+)(?: -w ([\w./-]+))?/g)]
    .filter(([, name = '', folder = '.']) => !filesOfScript(name, folder)?.every(inCheckout))
    .map(([command]) => command)

const namesIn = (folder: string, letter: string) =>
  globSync(`${letter}[0-9]*.ts`, { cwd: join(checkout, folder), exclude: ['*.test.ts'] }).map(
    file => `${letter}${/^\w0*(\d+[a-z]?)-/.exec(file)?.[1]}`,
  )
const benches = namesIn('bench', 'g')
const drills = namesIn('drills', 'p')
const promises = () => tableOf(readDocument('docs/reliability.md')).map(([name = '']) => name)

/** p50 and p99 are percentiles. */
const percentile = /^p(?:50|9\d+)$/

/** Names of drills and benches that cannot be run. An uppercase P is a promise; two of these have a test and no drill. */
export const missingRuns: Check = ({ text }) =>
  all(text, /\b([pPgG][1-9]\d{0,2}[a-zA-Z]?)\b/g).filter(name => {
    if (percentile.test(name)) return false
    if (name.startsWith('P')) return !promises().includes(name)
    return ![...benches, ...drills].includes(name.toLowerCase())
  })
