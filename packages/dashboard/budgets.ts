import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import filePlugin from '@size-limit/file'
import sizeLimit from 'size-limit'
import type { Manifest } from 'vite'
import { bundle } from './bundle.ts'

/**
 * Builds the dashboard and measures what a browser loads, compressed with gzip. `npm run check` runs it; it fails when
 * something is larger than its budget.
 */
const kilobyte = 1_000
const budgets = {
  firstScript: 260 * kilobyte,
  firstStyle: 40 * kilobyte,
  /** What `index.html` does not name comes a round trip later. */
  later: kilobyte,
  screen: 40 * kilobyte,
  charts: 125 * kilobyte,
}
/** A first visit to a workspace loads these beside what the page itself names, each with what it imports. */
const firstScreens = ['src/shell/shell.tsx', 'src/screens/overview/overview.tsx']

const folder = mkdtempSync(join(tmpdir(), 'keyrail-budgets-'))

async function measure(manifest: Manifest): Promise<void> {
  const named = new Set(readFileSync(join(folder, 'index.html'), 'utf8').match(/assets\/[\w.-]+/g))
  const first = filesOf(manifest, firstScreens).union(named)
  await hold('First load, script', ofKind(first, '.js'), budgets.firstScript)
  await hold('First load, style', ofKind(first, '.css'), budgets.firstStyle)
  await hold('First load, a round trip later', [...first.difference(named)], budgets.later)
  for (const [name, chunk] of Object.entries(manifest)) {
    if (!chunk.isDynamicEntry || firstScreens.includes(name)) continue
    const files = filesOf(manifest, [name]).difference(first)
    await hold(name, [...files], /chart/.test(name) ? budgets.charts : budgets.screen)
  }
}

const ofKind = (files: ReadonlySet<string>, ending: string) =>
  [...files].filter(file => file.endsWith(ending))

/** The files of these chunks and of all chunks that they import at once. */
function filesOf(manifest: Manifest, names: readonly string[]): Set<string> {
  const files = new Set<string>()
  const seen = new Set<string>()
  const visit = (name: string): void => {
    if (seen.has(name)) return
    seen.add(name)
    const chunk = manifest[name]
    if (chunk === undefined) throw new Error(`the build has no ${name}`)
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file)
    for (const one of chunk.imports ?? []) visit(one)
  }
  for (const name of names) visit(name)
  return files
}

async function hold(name: string, files: readonly string[], most: number): Promise<void> {
  const checks = [{ files: files.map(file => join(folder, file)), gzip: true }]
  const [measured] = (await sizeLimit([filePlugin], { checks })) as { size?: number }[]
  const size = measured?.size ?? 0
  const figure = `${(size / kilobyte).toFixed(1)} of ${most / kilobyte} KB`
  if (size <= most && process.env.KEYRAIL_SHOW_SIZES === undefined) return
  console.log(`${name}: ${figure}${size > most ? ', which is too large' : ''}`)
  if (size > most) process.exitCode = 1
}

try {
  await bundle(folder)
  await measure(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
