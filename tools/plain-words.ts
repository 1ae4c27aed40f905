import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { proseOf, testNamesOf } from './prose.ts'

/**
 * Finds wordings that make a reader parse a sentence twice, in comments, messages, test names and pages. Each names its
 * replacement. `npm run check` runs it over the whole repository:
 *
 *   node bin/node.mjs tools/plain-words.ts [PATH…]
 */
export interface Wording {
  readonly pattern: RegExp
  /** What to write. */
  readonly instead: string
}

export const wordings: readonly Wording[] = [
  { pattern: /\b(?:tell|tells|told|telling)\b/i, instead: 'return, report, log, say; distinguish' },
  { pattern: /\bnobody\b/i, instead: 'name the actor: no client, no caller' },
  {
    pattern: /\bwho(?:ever)? (?:is|are|was|were|has|have)\b/i,
    instead: 'a noun: the caller, the client, the owner',
  },
  { pattern: /\bwhoever\b/i, instead: 'a noun: the caller, the client' },
  {
    pattern: /\b(?:what|that|which|who) (?:is|are|was|were) (?:none|no)\b/i,
    instead: 'not a …, invalid, missing',
  },
  { pattern: /\bthere (?:is|are|was|were) no such\b/i, instead: 'missing, does not exist' },
  { pattern: /\b(?:of|for) (?:what|whom|whose)\b/i, instead: 'name the thing, actor first' },
  { pattern: /(?:^|[.:;!?] )Of (?!course\b)/, instead: 'put the subject first' },
  {
    pattern: /\b(?:is|are|was|were|be) of (?:no|one|a|an|the|its|their|another|this|that|nobody)\b/i,
    instead: 'belongs to',
  },
  { pattern: /\bof (?:its|their|our|your|one[’']s|his|my) own\b/i, instead: 'its own …' },
  { pattern: /\bin the midst of\b/i, instead: 'during, within' },
  { pattern: /\b(?:thereof|whereof|therein|wherein|hereby|whereby)\b/i, instead: 'a plain preposition' },
  { pattern: /\b(?:mend|mends|mended|mending)\b/i, instead: 'fix, repair' },
  { pattern: /\bis led\b|\bare led\b/i, instead: 'links to, points to' },
]

/** Test names state a guarantee in less than this. */
export const testNameLengthMax = 89

/** Texts of others, quoted as they are. */
const quoted = [
  'LICENSE',
  'docs/asvs.md',
  'package-lock.json',
  'tools/plain-words.ts',
  'tools/plain-words.e2e.test.ts',
]

export interface Finding {
  readonly path: string
  readonly line: number
  readonly found: string
  readonly instead: string
}

export function findingsIn(path: string, text: string): Finding[] {
  const findings: Finding[] = []
  for (const { line, prose } of proseOf(path, text)) {
    for (const { pattern, instead } of wordings) {
      const match = pattern.exec(prose)
      if (match !== null) findings.push({ path, line, found: match[0].trim(), instead })
    }
  }
  for (const { line, name } of testNamesOf(path, text)) {
    if (name.length > testNameLengthMax)
      findings.push({
        path,
        line,
        found: `a test name of ${name.length} characters`,
        instead: 'fewer than 90',
      })
  }
  return findings
}

const checkout = fileURLToPath(new URL('..', import.meta.url))

export function filesBelow(paths: readonly string[]): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...paths], {
    cwd: checkout,
    encoding: 'utf8',
  })
  return listed
    .split('\n')
    .filter(path => /\.(?:ts|mjs|md|sql|html|css)$/.test(path) && !quoted.includes(path))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const findings = filesBelow(process.argv.slice(2)).flatMap(path =>
    findingsIn(path, readFileSync(checkout + path, 'utf8')),
  )
  for (const { path, line, found, instead } of findings)
    console.log(`${path}:${line}  "${found}" → ${instead}`)
  if (findings.length > 0) console.log(`${findings.length} wordings to rewrite`)
  process.exitCode = findings.length === 0 ? 0 : 1
}
