import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Importers } from './imports.ts'

/** What differs from the last commit that this branch shares with its upstream, or else with `origin`. */
export interface Changes {
  readonly base: string
  /** Paths from this folder, also of files that are not committed yet. */
  readonly files: readonly string[]
}

function git(...args: string[]): string[] {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' })
  return status === 0 ? stdout.split('\n').filter(line => line !== '') : []
}

/** Without an upstream, what is not committed. */
export function readChanges(): Changes {
  const bases = ['@{upstream}', 'origin/HEAD', 'origin/main'].flatMap(name => git('merge-base', 'HEAD', name))
  const base = bases[0] ?? 'HEAD'
  const files = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]
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
