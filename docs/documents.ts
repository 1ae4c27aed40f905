import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { anchorOf } from '../packages/dashboard/guides/anchors.ts'
import { readText } from '../packages/server/test/source-files.ts'

/** The documents of the project for its tests: sections, tables and blocks of code. */
export { checkout, readText as readDocument } from '../packages/server/test/source-files.ts'

/** Every page, from the checkout's directory. */
export const documents: readonly string[] = ['*.md', 'docs/**/*.md']
  .flatMap(pattern => globSync(pattern, { cwd: fileURLToPath(new URL('../', import.meta.url)) }))
  .toSorted()

/** The text under a heading of any level, up to the next heading of that level or a higher one. */
export function section(page: string, heading: string): string {
  const lines = page.split('\n')
  const fenced = fencedLines(lines)
  const isHeading = (line: string, i: number) => !fenced.has(i) && /^#{1,6} /.test(line)
  const start = lines.findIndex((line, i) => isHeading(line, i) && line.replace(/^#+ /, '') === heading)
  if (start === -1) throw new Error(`section "${heading}" is missing`)
  const depth = lines[start]?.indexOf(' ') ?? 0
  const length = lines
    .slice(start + 1)
    .findIndex((line, i) => isHeading(line, start + 1 + i) && line.indexOf(' ') <= depth)
  return lines.slice(start + 1, length === -1 ? undefined : start + 1 + length).join('\n')
}

/** Headings with the anchors that links to them use. */
export function anchorsOf(page: string): string[] {
  const lines = page.split('\n')
  const fenced = fencedLines(lines)
  return lines
    .filter((line, i) => !fenced.has(i) && /^#{1,6} /.test(line))
    .map(line => anchorOf(line.replace(/^#+ /, '')))
}

/** The rows of the first table, cells trimmed, without its head. A `\|` is a bar in a cell. */
export function tableOf(text: string): string[][] {
  const lines = text.split('\n')
  const head = lines.findIndex((_, i) => /^\|[-| :]+\|$/.test(lines[i + 1] ?? ''))
  if (head === -1) throw new Error('the table is missing')
  const rows: string[][] = []
  for (const line of lines.slice(head + 2)) {
    if (!line.startsWith('|')) break
    const cells = line.split(/(?<!\\)\|/).slice(1, -1)
    rows.push(cells.map(cell => cell.trim().replaceAll('\\|', '|')))
  }
  return rows
}

/** The figures, numbers with their units, that a text does not state, in whatever words. */
export function figuresMissing(text: string, figures: readonly string[]): string[] {
  const line = text.replaceAll(/\s+/g, ' ')
  return figures.filter(
    figure =>
      !new RegExp(`(?<![\\w,.])${figure.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w])`).test(line),
  )
}

export interface CodeBlock {
  language: string
  text: string
}

export const codeBlocks = (page: string): CodeBlock[] =>
  [...page.matchAll(/^```(\w*)(?: [^\n]*)?\n([\s\S]*?)\n?```$/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }))

/** The page without its blocks of code, with unchanged line numbers. */
export const proseOf = (page: string): string =>
  page.replace(/^```[\s\S]*?^```$/gm, block => block.replace(/[^\n]/g, ''))

function fencedLines(lines: readonly string[]): Set<number> {
  const inside = new Set<number>()
  let open = false
  lines.forEach((line, i) => {
    if (line.startsWith('```')) open = !open
    if (open) inside.add(i)
  })
  return inside
}

export const documentsWithText = (): { path: string; text: string }[] =>
  documents.map(path => ({ path, text: readText(path) }))
