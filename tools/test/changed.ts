import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Importers } from './imports.ts'

/** What differs from the last commit that this branch shares with main as it was last fetched. */
export interface Changes {
  readonly base: string
  /** Paths from this folder, also of files that are not committed yet. */
  readonly files: readonly string[]
}

/** Where main may stand: the upstream of a pushed branch is that branch itself, which differs in nothing. */
const mains = ['main@{upstream}', 'origin/HEAD', 'origin/main']

/**
 * Without such a main, what is not committed.
 *
 * @param folder the checkout
 * @throws when git cannot say what has changed
 */
export function readChanges(folder = '.'): Changes {
  const git = (...args: string[]) => spawnSync('git', args, { cwd: folder, encoding: 'utf8' })
  const lines = (...args: string[]) => {
    const { status, stdout, stderr } = git(...args)
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.split('\n', 1)[0]}`)
    return stdout.split('\n').filter(line => line !== '')
  }
  const found = mains.map(name => git('merge-base', 'HEAD', name)).find(({ status }) => status === 0)
  const base = found?.stdout.trim() ?? 'HEAD'
  const unknown = lines('ls-files', '--others', '--exclude-standard')
  const files = [...lines('diff', '--name-only', base), ...unknown]
  return { base, files: [...new Set(files)] }
}

/**
 * @param tests all test files that may be chosen
 * @returns those that a changed file reaches: by imports; for a file that nothing imports, such as a page or a table of
 *   cases, by the modules that mention its name, or else by the tests of the nearest folder that has some
 */
export function testsReached(
  changed: readonly string[],
  tests: readonly string[],
  importers: Importers,
): string[] {
  const mentions = memoizedMentions([...importers.keys()])
  const starts = changed.flatMap(file => {
    if (importers.has(file)) return [file]
    const mentioning = mentions(basename(file))
    return mentioning.length > 0 ? mentioning : nearestTests(file, tests)
  })
  const reached = new Set<string>()
  for (const waiting = [...starts]; waiting.length > 0; ) {
    const file = waiting.pop() ?? ''
    if (reached.has(file)) continue
    reached.add(file)
    waiting.push(...(importers.get(file) ?? []))
  }
  return tests.filter(file => reached.has(file))
}

function memoizedMentions(modules: readonly string[]): (name: string) => string[] {
  const texts = new Map<string, string>()
  const textOf = (module: string) => {
    const text = texts.get(module) ?? readText(module)
    texts.set(module, text)
    return text
  }
  return name => modules.filter(module => textOf(module).includes(name))
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function nearestTests(file: string, tests: readonly string[]): string[] {
  for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
    const near = tests.filter(test => test.startsWith(`${folder}/`))
    if (near.length > 0) return near
  }
  return []
}
