import { isComment, token } from '../packages/server/test/source-files.ts'

/** Extracts what people read from a file: comments, messages, test names, the text of pages. Code is left out. */
export interface Prose {
  /** 1 is the first. */
  readonly line: number
  readonly prose: string
}

export function proseOf(path: string, text: string): Prose[] {
  if (path.endsWith('.md')) return markdownProse(text)
  if (path.endsWith('.sql')) return matches(text, /--[^\n]*/g, found => found.slice(2))
  if (path.endsWith('.html') || path.endsWith('.css'))
    return matches(text, /\/\*[\s\S]*?\*\/|>[^<]+</g, found => found)
  return matches(text, token, found => (isComment(found) ? found : messageOf(found)))
}

/** The literal names of tests. A part that is filled in counts as it is written. */
export function testNamesOf(path: string, text: string): { line: number; name: string }[] {
  if (!/\.test\.m?[jt]s$/.test(path)) return []
  return [...text.matchAll(/\btest\(\s*(['`])((?:(?!\1)[^\\]|\\.)*)\1/g)].map(({ index, 2: name = '' }) => ({
    line: lineAt(text, index),
    name,
  }))
}

/** A literal of several words is a message; regular expressions and SQL statements are code. */
const messageOf = (found: string) =>
  /^['"`]/.test(found) &&
  /\w+ \w+ \w+/.test(found) &&
  !/^[`'"]\s*(?:select\b|insert into|update \S+ (?:\w+ )?set|delete from|with \w+(?:\(| as)|(?:create|alter) (?!a\b|the\b)\w+)/i.test(
    found,
  )
    ? found
    : ''

const withoutCode = (text: string) => text.replace(/`[^`\n]*`/g, '`…`').replace(/\]\([^)\s]*\)/g, ']')

function markdownProse(text: string): Prose[] {
  let isFenced = false
  return text.split('\n').map((line, i) => {
    if (/^\s*```/.test(line)) isFenced = !isFenced
    return { line: i + 1, prose: isFenced ? '' : withoutCode(line) }
  })
}

function matches(text: string, pattern: RegExp, read: (found: string) => string): Prose[] {
  return [...text.matchAll(pattern)].flatMap(({ 0: found, index }) => {
    const first = lineAt(text, index)
    const prose = read(found)
    return (prose.startsWith('`') ? prose : withoutCode(prose))
      .split('\n')
      .map((line, i) => ({ line: first + i, prose: line.replace(/^\s*(?:\/\*\*?|\*|\/\/)\s?/, '') }))
  })
}

const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length
