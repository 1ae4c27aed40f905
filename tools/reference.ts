import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { writePackage } from '../packages/sdk/write-package.ts'
import { readCommandLine } from './command-line.ts'

/** `npm run reference`: writes the reference of `@keyrail/sdk` as pages of HTML, from the published types. */
const usage = `\
npm run reference             writes the reference of @keyrail/sdk into packages/sdk/reference
npm run reference -- FOLDER   writes it into another folder

Exit code 0: the pages are whole. 1: an export has no comment, or a link leads nowhere.`

const root = join(import.meta.dirname, '..')
const sdk = join(root, 'packages', 'sdk')
const home = join(import.meta.dirname, 'reference')

/** Names of the entries: `index` for the package itself. */
export function entries(): string[] {
  const { exports } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
  return Object.keys(exports)
    .filter(path => path !== './package.json')
    .map(path => (path === '.' ? 'index' : path.slice('./'.length)))
}

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

/** The service's requests and answers without a comment: the service's own schemas document their members. */
const ofService = (declarations: readonly string[]): string[] => {
  const text = declarations.map(file => readFileSync(file, 'utf8')).join('\n')
  return Array.from(
    readFileSync(join(sdk, 'src', 'admin', 'types.ts'), 'utf8').matchAll(/^export type (\w+)/gm),
    ([, name = '']) => name,
  )
    .filter(name => !new RegExp(`\\*/\\s*(?:export |declare )*type ${name}\\b`).test(text))
    .map(name => `admin.${name}`)
}

/** @returns the faults, a line each: an undocumented export, a broken link */
export const writeReference = (into: string): Promise<string[]> =>
  inWorkFolder(async folder => {
    await writePackage(folder)
    const types = entries().map(name => join(folder, 'cjs', `${name}.d.ts`))
    const declarations = globSync(join(folder, 'cjs', '*.d.ts'))
    return writePages(folder, types, into, ofService(declarations))
  })

/**
 * A folder below the packages whose types are documented. Not in a node_modules, where typedoc reports no fault. The
 * package that writes the pages is installed there too.
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
 * @param unsaid names that need no comment
 * @returns the faults
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
  const { positionals } = readCommandLine(usage, {}, { most: 1 })
  const into = positionals[0] ?? join(sdk, 'reference')
  const complaints = await writeReference(into)
  for (const line of complaints) console.error(line)
  if (complaints.length > 0) process.exitCode = 1
  else console.log(`The reference is in ${into}/index.html`)
}
