import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Entries, entriesOf, typedNames } from './entries.ts'
import { declarationsOf } from './write-types.ts'

const run = promisify(execFile)
const folder = import.meta.dirname
/** Sources with types of the contract. */
const ofContract = ['admin/types', 'http/call-types']

/**
 * The function whose result is the type `Admin`, with its comment. Its parameters are left out, since only tests call it from outside.
 */
const ofResult = /\/\*\* [^\n]* \*\/\n(export declare function openAdmin)\(options: [\s\S]*?\n?\}\)(?=: \{)/

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

interface Bundler {
  bundleTypes(options: { entries: Entries }): Promise<{ name: string; text: string }[]>
}

/**
 * Writes the types that the package ships, as CommonJS, into an empty folder. The checkout keeps them, so that reviews show a
 * change that callers see, and so that an installation without compilers can build the package.
 */
export async function declareTypes(into: string): Promise<void> {
  const { bundleTypes } = await bundler()
  rmSync(into, { recursive: true, force: true })
  mkdirSync(into, { recursive: true })
  const work = mkdtempSync(join(tmpdir(), 'keyrail-types-'))
  try {
    await declare(work)
    for (const { name, text } of await bundleTypes({ entries: entriesOf(typedNames(), work, '.d.ts') }))
      writeFileSync(join(into, name), onceWritten(finished(text)))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Installs the bundler of types when it is first needed. */
async function bundler(): Promise<Bundler> {
  const installer: Installer = await import(new URL('../../bin/runtime.mjs', import.meta.url).href)
  await installer.ensureInstalled({ root: join(folder, 'bundling'), dev: true })
  return import(new URL('bundling/bundle-types.mjs', import.meta.url).href)
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
function onceWritten(text: string): string {
  const written = new Set<string>()
  return text.replaceAll(/^\/\*\* .*? \*\/\n(?=\s*\w+\??: )/gm, comment => {
    if (written.has(comment)) return ''
    written.add(comment)
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
