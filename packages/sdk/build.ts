import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { declarationsOf } from './write-types.ts'

const run = promisify(execFile)
const folder = import.meta.dirname
/** Sources whose types are the contract's. */
const ofContract = ['admin/types', 'http/call-types']

type Entries = Readonly<Record<string, string>>

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

interface Bundler {
  bundleCode(options: { entries: Entries; into: string }): Promise<{ name: string; exports: string[] }[]>
  bundleTypes(options: { entries: Entries }): Promise<{ name: string; text: string }[]>
}

/**
 * Writes the code and its types into `cjs` below a folder, as CommonJS. In `esm` stands a door of one line for each
 * entry: an ES module may take code and types of CommonJS, and not the other way round on every Node, under Jest and
 * for every compiler. So there is one copy of the code in a process, and room for code that can be read.
 */
export async function build(into: string): Promise<void> {
  const { bundleCode, bundleTypes } = await bundler()
  const [esm, cjs] = [join(into, 'esm'), join(into, 'cjs')]
  const names = entryNames()
  for (const [out, type] of [
    [esm, 'module'],
    [cjs, 'commonjs'],
  ] as const) {
    rmSync(out, { recursive: true, force: true })
    mkdirSync(out, { recursive: true })
    writeFileSync(join(out, 'package.json'), `${JSON.stringify({ type })}\n`)
  }
  const written = await bundleCode({ entries: entriesOf(names, join(folder, 'src'), '.ts'), into: cjs })
  for (const { name, exports } of written) writeFileSync(join(esm, `${name}.js`), doorTo(name, exports))
  const typed = names.filter(name => name !== 'browser')
  const work = mkdtempSync(join(tmpdir(), 'keyrail-types-'))
  try {
    await declare(work)
    for (const { name, text } of await bundleTypes({ entries: entriesOf(typed, work, '.d.ts') }))
      writeFileSync(join(cjs, name), finished(text))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  for (const name of typed) writeFileSync(join(esm, `${name}.d.ts`), `export * from '../cjs/${name}.js'\n`)
}

/** A module that exports nothing is loaded for what it does. */
const doorTo = (name: string, exports: readonly string[]): string =>
  exports.length === 0
    ? `import '../cjs/${name}.js'\n`
    : `export { ${exports.toSorted().join(', ')} } from '../cjs/${name}.js'\n`

/** The files below a folder, and how many bytes each has. */
const filesIn = (below: string): { file: string; bytes: number }[] =>
  readdirSync(below, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map(file => ({ file, stats: statSync(join(below, file)) }))
    .filter(({ stats }) => stats.isFile())
    .map(({ file, stats }) => ({ file, bytes: stats.size }))

/** What was written: a line for each file, and the sums with and without source maps. */
function tell(into: string): void {
  const files = filesIn(into)
  const sum = (some: typeof files) => some.reduce((total, { bytes }) => total + bytes, 0)
  const line = (bytes: number, text: string) => `${String(bytes).padStart(8)}  ${text}\n`
  const maps = files.filter(({ file }) => file.endsWith('.map'))
  for (const { file, bytes } of files) process.stdout.write(line(bytes, file))
  process.stdout.write(line(sum(files) - sum(maps), `bytes in ${into}, without source maps`))
  process.stdout.write(line(sum(maps), 'bytes of source maps'))
}

/** What bundles is installed when it is first needed: a start of the service waits for none of it. */
async function bundler(): Promise<Bundler> {
  const installer: Installer = await import(new URL('../../bin/runtime.mjs', import.meta.url).href)
  await installer.ensureInstalled({ root: join(folder, 'bundling'), dev: true })
  return import(new URL('bundling/bundle.mjs', import.meta.url).href)
}

/** Writes a declaration for each source. */
async function declare(into: string): Promise<void> {
  const packageFile = createRequire(import.meta.url).resolve('typescript/package.json')
  const compiler = join(dirname(packageFile), 'bin', 'tsc')
  await run(process.execPath, [compiler, '-p', join(folder, 'tsconfig.build.json'), '--outDir', into])
  for (const name of ofContract)
    writeFileSync(join(into, `${name}.d.ts`), await declarationsOf(join(folder, 'src', `${name}.ts`)))
  for (const file of readdirSync(into, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts')) continue
    // Of a class that only we make, nobody needs the types with which it is made.
    const text = readFileSync(join(into, file), 'utf8').replace(
      /^( +)\/\*\* @internal \*\/\s+constructor\(.*\);$/gm,
      '$1private constructor();',
    )
    // The compiler leaves `./store/store.ts` in declarations, which is no declaration.
    writeFileSync(
      join(into, file),
      text.replaceAll(/(from |import\()(['"]\.{1,2}\/[\w/-]+)\.ts(['"])/g, '$1$2.js$3'),
    )
  }
}

/**
 * A comment behind a member, on its line, would be that of no member. A framework that is nothing but ES modules has its
 * types there as well, and a compiler lets CommonJS have them only by the word that is added.
 */
const finished = (text: string): string =>
  text
    .replaceAll(/^\/\/(?:#(?:end)?region| \.).*\n/gm, '')
    .replaceAll('; /**', ';\n/**')
    .replaceAll(
      /^import (\{[^}]*\}) from "(hono|@nestjs\/\w+)";$/gm,
      'import type $1 from "$2" with { "resolution-mode": "import" };',
    )

const entriesOf = (names: readonly string[], below: string, ending: string): Entries =>
  Object.fromEntries(names.map(name => [name, join(below, name + ending)]))

/** What `package.json` exports. */
function entryNames(): string[] {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const named = JSON.stringify(exports).matchAll(/"\.\/dist\/esm\/([\w-]+)\.js"/g)
  return [...new Set(Array.from(named, ([, name = '']) => name))]
}

if (import.meta.main) {
  const into = resolve(process.argv[2] ?? join(folder, 'dist'))
  await build(into)
  tell(into)
}
