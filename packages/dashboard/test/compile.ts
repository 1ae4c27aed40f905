import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after } from 'node:test'

const modules = join(import.meta.dirname, '..', '..', '..', 'node_modules')

/** Makes a folder for samples below the packages that they import. It goes at the end of the tests. */
export function makeSamplesFolder(): string {
  const cache = join(modules, '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'keyrail-samples-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Options that check types as a strict project does, against the sources of the packages. */
export const strictTypes = [
  ...['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--allowImportingTsExtensions'],
  ...['--customConditions', 'keyrail-source'],
]

/** Compiles files of one folder. `stdout` has the faults. */
export const compile = (files: readonly string[], options: readonly string[]) =>
  spawnSync(
    process.execPath,
    [
      join(modules, 'typescript', 'bin', 'tsc'),
      ...['--ignoreConfig', '--experimentalDecorators', '--target', 'es2024', '--module', 'nodenext'],
      ...['--types', 'node', '--skipLibCheck', ...options],
      ...files,
    ],
    { encoding: 'utf8', cwd: dirname(files[0] ?? modules) },
  )
