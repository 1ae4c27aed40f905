import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { declarationsOf } from './write-types.ts'

const run = promisify(execFile)
const folder = import.meta.dirname
/** Sources whose types are the contract's. */
const ofContract = ['admin-types', 'call-types']

/**
 * Compiles the sources into `esm` below a folder, with their types. There is nothing to bundle: the SDK has no
 * dependencies, and of the contract it takes no more than types, which are written out. Code is shipped without its
 * comments, and types without those that no entry leads to.
 *
 * `cjs` has a door to each entry: Node loads an ES module with `require` from 20.19 and 22.12 on. So there is one copy
 * of everything, and an error is an instance of the same class for all who share a process.
 */
export async function build(into: string): Promise<void> {
  const packageFile = createRequire(import.meta.url).resolve('typescript/package.json')
  const compiler = join(dirname(packageFile), 'bin', 'tsc')
  const [esm, cjs] = [join(into, 'esm'), join(into, 'cjs')]
  for (const [out, type] of [
    [esm, 'module'],
    [cjs, 'commonjs'],
  ] as const) {
    rmSync(out, { recursive: true, force: true })
    mkdirSync(out, { recursive: true })
    writeFileSync(join(out, 'package.json'), `${JSON.stringify({ type })}\n`)
  }
  const compile = (...options: string[]) =>
    run(process.execPath, [compiler, '-p', join(folder, 'tsconfig.build.json'), '--outDir', esm, ...options])
  await compile('--emitDeclarationOnly')
  await compile('--removeComments', '--declaration', 'false')
  for (const name of ofContract) {
    const types = await declarationsOf(join(folder, 'src', `${name}.ts`))
    writeFileSync(join(esm, `${name}.d.ts`), types)
  }
  const doors = entries()
  finishDeclarations(esm, doors)
  for (const name of doors) {
    writeFileSync(join(cjs, `${name}.js`), doorTo(name))
    writeFileSync(join(cjs, `${name}.d.ts`), `export * from '../esm/${name}.js'\n`)
  }
}

function finishDeclarations(esm: string, doors: readonly string[]): void {
  const written = readdirSync(esm).filter(file => file.endsWith('.d.ts'))
  for (const file of written) nameCompiledFiles(join(esm, file))
  const reached = new Set(doors)
  // A set that grows while it is walked is walked to its end.
  for (const name of reached) {
    const text = readFileSync(join(esm, `${name}.d.ts`), 'utf8')
    for (const [, other = ''] of text.matchAll(/['"]\.\/([\w-]+)\.js['"]/g)) reached.add(other)
  }
  for (const file of written) if (!reached.has(file.slice(0, -'.d.ts'.length))) rmSync(join(esm, file))
}

/** Node before 20.19 would name a file of which nobody knows, and not what to do. */
const doorTo = (name: string): string => `try {
  module.exports = require('../esm/${name}.js')
} catch (error) {
  if (error.code !== 'ERR_REQUIRE_ESM') throw error
  throw new Error('@keyrail/sdk: require() needs Node 20.19, 22.12 or later; import works from Node 20 on')
}
`

/** What `package.json` exports. */
function entries(): string[] {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const named = JSON.stringify(exports).matchAll(/"\.\/dist\/cjs\/([\w-]+)\.js"/g)
  return Array.from(named, ([, name = '']) => name)
}

/** The compiler leaves `./store.ts` in declarations, which older compilers do not find. */
function nameCompiledFiles(file: string): void {
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll(/(from |import\()(['"]\.\/[\w-]+)\.ts(['"])/g, '$1$2.js$3'))
}

if (import.meta.main) await build(resolve(process.argv[2] ?? join(folder, 'dist')))
