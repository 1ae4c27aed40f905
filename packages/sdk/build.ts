import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const folder = import.meta.dirname

/**
 * Compiles the sources into `esm` and `cjs` below a folder, each with its types. There is nothing to bundle: the
 * SDK has no dependencies, and of the contract it takes no more than types for its inside.
 */
export async function build(into: string): Promise<void> {
  const packageFile = createRequire(import.meta.url).resolve('typescript/package.json')
  const compiler = join(dirname(packageFile), 'bin', 'tsc')
  const compile = async (form: 'esm' | 'cjs', type: 'module' | 'commonjs', options: string[]) => {
    const out = join(into, form)
    rmSync(out, { recursive: true, force: true })
    mkdirSync(out, { recursive: true })
    await run(process.execPath, [
      compiler,
      '-p',
      join(folder, 'tsconfig.build.json'),
      '--outDir',
      out,
      ...options,
    ])
    writeFileSync(join(out, 'package.json'), `${JSON.stringify({ type })}\n`)
    for (const file of readdirSync(out)) if (file.endsWith('.d.ts')) nameCompiledFiles(join(out, file))
  }
  await compile('esm', 'module', [])
  await compile('cjs', 'commonjs', ['--module', 'commonjs', '--moduleResolution', 'bundler'])
}

/** The compiler leaves `./store.ts` in declarations, which older compilers do not find. */
function nameCompiledFiles(file: string): void {
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll(/(from |import\()(['"]\.\/[\w-]+)\.ts(['"])/g, '$1$2.js$3'))
}

if (import.meta.main) await build(resolve(process.argv[2] ?? join(folder, 'dist')))
