import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Modules by the name of their entry. */
export type Entries = Readonly<Record<string, string>>

export const entriesOf = (names: readonly string[], below: string, ending: string): Entries =>
  Object.fromEntries(names.map(name => [name, join(below, name + ending)]))

/** The entries that `package.json` exports. */
export function entryNames(): string[] {
  const { exports } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'))
  const named = JSON.stringify(exports).matchAll(/"\.\/dist\/esm\/([\w-]+)\.js"/g)
  return [...new Set(Array.from(named, ([, name = '']) => name))]
}

/** The entries that a compiler sees. */
export const typedNames = (): string[] => entryNames().filter(name => name !== 'browser')
