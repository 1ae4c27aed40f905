import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from '../packages/sdk/build.ts'

/**
 * Writes the reference of `@keyrail/sdk` as pages of HTML, from the types that are shipped.
 *
 *   npm run reference             into packages/sdk/reference
 *   npm run reference -- FOLDER   elsewhere
 */

const root = join(import.meta.dirname, '..')
const sdk = join(root, 'packages', 'sdk')
const home = join(import.meta.dirname, 'reference')

/** Names of the entries that are imported: `index` for the package itself. */
export function entries(): string[] {
  const { exports } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
  return Object.keys(exports)
    .filter(path => path !== './package.json')
    .map(path => (path === '.' ? 'index' : path.slice('./'.length)))
}

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

/** What the service takes and answers: its own schemas say what their members mean. */
const ofService = (): string[] =>
  Array.from(
    readFileSync(join(sdk, 'src', 'admin', 'types.ts'), 'utf8').matchAll(/^export type (\w+)/gm),
    ([, name]) => `admin.${name}`,
  )

/** @returns what there is to complain of, a line each: an export without a word, a link to nothing */
export const writeReference = (into: string): Promise<string[]> =>
  inWorkFolder(async folder => {
    await build(folder)
    const types = entries().map(name => join(folder, 'cjs', `${name}.d.ts`))
    return writePages(folder, types, into, ofService())
  })

/**
 * A folder below the packages whose types are named, and not in a node_modules, of which typedoc complains of nothing.
 * What writes pages is installed there too.
 */
export async function inWorkFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const installer: Installer = await import(new URL('../bin/runtime.mjs', import.meta.url).href)
  await installer.ensureInstalled({ root: home, dev: true })
  const folder = mkdtempSync(join(home, '.work-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param entryPoints declarations in the folder
 * @param unsaid names of what needs no comment
 * @returns what there is to complain of
 */
export function writePages(
  folder: string,
  entryPoints: readonly string[],
  into: string,
  unsaid: readonly string[] = [],
): string[] {
  const settings = join(folder, 'typedoc.json')
  const project = join(folder, 'tsconfig.json')
  const compilerOptions = { target: 'es2022', module: 'nodenext', strict: true, skipLibCheck: true }
  writeFileSync(project, JSON.stringify({ compilerOptions, files: entryPoints }))
  const given = { entryPoints, tsconfig: project, out: resolve(into), intentionallyNotDocumented: unsaid }
  writeFileSync(settings, JSON.stringify({ ...options, ...given }))
  const typedoc = join(home, 'node_modules', 'typedoc', 'bin', 'typedoc')
  const { status, stdout, stderr } = spawnSync(process.execPath, [typedoc, '--options', settings], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  const complaints = `${stdout}${stderr}`
    .split('\n')
    .filter(line => /^\[(?:warning|error)\] (?!Found \d)/.test(line))
  if (status !== 0 && complaints.length === 0) throw new Error(`typedoc ended with ${status}: ${stderr}`)
  return complaints
}

const options = {
  name: '@keyrail/sdk',
  readme: join(sdk, 'README.md'),
  disableSources: true,
  disableGit: true,
  excludeInternal: true,
  excludePrivate: true,
  githubPages: false,
  hideGenerator: true,
  logLevel: 'Warn',
  sort: ['kind', 'source-order'],
  validation: { notExported: true, invalidLink: true, invalidPath: false, notDocumented: true },
  requiredToBeDocumented: ['Class', 'Interface', 'Function', 'TypeAlias', 'Variable'],
}

if (import.meta.main) {
  const into = process.argv[2] ?? join(sdk, 'reference')
  const complaints = await writeReference(into)
  for (const line of complaints) console.error(line)
  if (complaints.length > 0) process.exitCode = 1
  else console.log(`The reference is in ${into}/index.html`)
}
