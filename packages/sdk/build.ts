import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { readCommandLine } from '../../tools/command-line.ts'
import { declarationsOf } from './write-types.ts'

/** `npm run build`: builds the package `@keyrail/sdk`. */
const usage = `\
npm run build             builds the SDK into packages/sdk/dist
npm run build -- FOLDER   builds it into another folder`

const run = promisify(execFile)
const folder = import.meta.dirname
/** Sources with types of the contract. */
const ofContract = ['admin/types', 'http/call-types']

/**
 * The function whose result is the type `Admin`, with its comment. Its parameters are left out, since only tests call it from outside.
 */
const ofResult = /\/\*\* [^\n]* \*\/\n(export declare function openAdmin)\(options: [\s\S]*?\n?\}\)(?=: \{)/

type Entries = Readonly<Record<string, string>>

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

/** A module of an entry, what it exports, and which modules of Node it needs. */
interface Written {
  name: string
  exports: string[]
  needs: string[]
  /** Modules of a framework, which the ES module imports for it. */
  peers: string[]
}

interface Bundler {
  bundleCode(options: { entries: Entries; into: string }): Promise<Written[]>
  giveModules(names: readonly string[]): string
  givePeers(names: readonly string[]): string
  bundleTypes(options: { entries: Entries }): Promise<{ name: string; text: string }[]>
}

/**
 * Writes the code and its types into `cjs` below a folder, as CommonJS. `esm` has one re-exporting line for each
 * entry, behind an import of Node's modules where the code needs them (`node.js`): ES modules can import code and types of CommonJS, while the reverse does not work on every Node, under Jest and
 * with every compiler. So a process has one copy of the code, and the package has room for readable code.
 */
export async function build(into: string): Promise<void> {
  const { bundleCode, bundleTypes, giveModules, givePeers } = await bundler()
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
  for (const each of written) writeFileSync(join(esm, `${each.name}.js`), doorTo(each))
  const needed = new Set(written.flatMap(({ needs }) => needs))
  writeFileSync(join(esm, 'node.js'), giveModules([...needed].toSorted()))
  writeFileSync(join(esm, 'peers.js'), givePeers([...new Set(written.flatMap(({ peers }) => peers))]))
  const typed = names.filter(name => name !== 'browser')
  const work = mkdtempSync(join(tmpdir(), 'keyrail-types-'))
  try {
    await declare(work)
    for (const { name, text } of await bundleTypes({ entries: entriesOf(typed, work, '.d.ts') }))
      writeFileSync(join(cjs, name), onceSaid(finished(text)))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  for (const name of typed) writeFileSync(join(esm, `${name}.d.ts`), `export * from '../cjs/${name}.js'\n`)
}

/** A module without exports is imported for its side effects. Modules of Node come first, because the code uses them at once. */
const doorTo = ({ name, exports, needs, peers }: Written): string =>
  (needs.length === 0 ? '' : "import './node.js'\n") +
  (peers.length === 0 ? '' : "import './peers.js'\n") +
  (exports.length === 0
    ? `import '../cjs/${name}.js'\n`
    : `export { ${exports.toSorted().join(', ')} } from '../cjs/${name}.js'\n`)

/** The files below a folder and their bytes. */
const filesIn = (below: string): { file: string; bytes: number }[] =>
  readdirSync(below, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map(file => ({ file, stats: statSync(join(below, file)) }))
    .filter(({ stats }) => stats.isFile())
    .map(({ file, stats }) => ({ file, bytes: stats.size }))

/** Prints each file, and the sums with and without source maps. */
function report(into: string): void {
  const files = filesIn(into)
  const sum = (some: typeof files) => some.reduce((total, { bytes }) => total + bytes, 0)
  const line = (bytes: number, text: string) => `${String(bytes).padStart(8)}  ${text}\n`
  const maps = files.filter(({ file }) => file.endsWith('.map'))
  for (const { file, bytes } of files) process.stdout.write(line(bytes, file))
  process.stdout.write(line(sum(files) - sum(maps), `bytes in ${into}, without source maps`))
  process.stdout.write(line(sum(maps), 'bytes of source maps'))
}

/** Installs the bundler when it is first needed, so that starting the service does not. */
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
    const text = readFileSync(join(into, file), 'utf8')
    // The compiler leaves `./store/store.ts` in declarations, where it does not resolve.
    writeFileSync(
      join(into, file),
      text
        .replaceAll(/(from |import\()(['"]\.{1,2}\/[\w/-]+)\.ts(['"])/g, '$1$2.js$3')
        .replace(ofResult, '$1()'),
    )
  }
}

/**
 * A comment after a member on the same line would belong to no member. The types of a framework with only ES modules are
 * ES modules too, which CommonJS can import only with the added attribute.
 */
const finished = (text: string): string =>
  passedOn(text)
    .replaceAll(/^\/\/(?:#(?:end)?region| \.).*\n/gm, '')
    .replaceAll('; /**', ';\n/**')
    // As in the code, and a thousand bytes less.
    .replaceAll(/^(?: {2})+/gm, spaces => '\t'.repeat(spaces.length / 2))
    .replaceAll(
      /^import (\{[^}]*\}) from "(hono|@nestjs\/\w+)";$/gm,
      'import type $1 from "$2" with { "resolution-mode": "import" };',
    )

/** A comment that several types of the contract share stands at the first of them: the others are 2 KB of the same. */
function onceSaid(text: string): string {
  const said = new Set<string>()
  return text.replaceAll(/^\/\*\* .*? \*\/\n(?=\s*\w+\??: )/gm, comment => {
    if (said.has(comment)) return ''
    said.add(comment)
    return comment
  })
}

/**
 * Exports a name of `core` from there, if the module does nothing else with it: the bundler lists such names twice. A list of
 * exports need not say which are types.
 */
function passedOn(text: string): string {
  const lists = /^import \{(.*)\} from "\.\/core\.js";\n([\s\S]*)^export \{(.*)\};$/m.exec(text)
  if (lists === null) return text
  const [whole, imported = '', body = '', exported = ''] = lists
  const namesIn = (list: string) => list.split(',').map(name => name.trim().replace(/^type /, ''))
  const given = namesIn(imported)
  const isPassed = (name: string) => given.includes(name) && !new RegExp(`\\b${name}\\b`).test(body)
  const line = (word: string, names: string[], end: string) =>
    names.length === 0 ? '' : `${word} { ${names.join(', ')} }${end}\n`
  const from = ' from "./core.js";'
  const [passed, own] = [
    namesIn(exported).filter(isPassed),
    namesIn(exported).filter(name => !isPassed(name)),
  ]
  const needed = given.filter(name => !passed.includes(name))
  return text.replace(
    whole,
    () =>
      line('import', needed, from) + body + line('export', own, ';') + line('export', passed, from).trimEnd(),
  )
}

const entriesOf = (names: readonly string[], below: string, ending: string): Entries =>
  Object.fromEntries(names.map(name => [name, join(below, name + ending)]))

/** The entries that `package.json` exports. */
function entryNames(): string[] {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const named = JSON.stringify(exports).matchAll(/"\.\/dist\/esm\/([\w-]+)\.js"/g)
  return [...new Set(Array.from(named, ([, name = '']) => name))]
}

if (import.meta.main) {
  const [given] = readCommandLine(usage, {}, { most: 1 }).positionals
  const into = resolve(given ?? join(folder, 'dist'))
  await build(into)
  report(into)
}
