import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const checkout = join(import.meta.dirname, '..', '..')

/** The pages that become guides. */
export const guidePages = 'docs/{*,migrate/*,runbooks/*,sdk/*}.md'

/** Everything that a build reads. Tests and the development server change nothing in it. */
const patterns = [
  '{package-lock,tsconfig.base}.json',
  'packages/contract/package.json',
  'packages/contract/src/**/*',
  'packages/dashboard/{index.html,package.json,tsconfig.json,archives.ts,build.ts,bundle.ts,config.ts}',
  'packages/dashboard/{guides,public,src}/**/*',
  'clients/go/{*.go,go.mod,LICENSE,README.md}',
  'clients/python/{LICENSE,README.md,pyproject.toml}',
  'clients/python/keyrail/**/*.{py,typed}',
  'deploy/guard/*',
  guidePages,
  'docs/pictures/*',
  'packages/embed/{LICENSE,README.md,package.json,tsconfig.json,bundle.ts,write-package.ts}',
  'packages/embed/{src,types}/**/*',
  'packages/guard/{LICENSE,README.md,package.json,write-package.ts}',
  'packages/guard/src/**/*',
  'packages/sdk/{LICENSE,README.md,package.json,bundle-code.ts,entries.ts,write-package.ts}',
  'packages/sdk/{src,types}/**/*',
]

const isTest = (path: string) => /\.test\.tsx?$/.test(path)

/** Their paths from the checkout's directory, in order. */
export const listSources = (): readonly string[] =>
  globSync(patterns, { cwd: checkout, withFileTypes: true })
    .filter(entry => entry.isFile() && !isTest(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name).slice(checkout.length + 1))
    .toSorted()

/** A digest of the sources: names and contents, not times, which differ in every clone. */
export function hashSources(): string {
  const hash = createHash('sha256')
  for (const path of listSources()) {
    const bytes = readFileSync(join(checkout, path))
    hash.update(`${path}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}
