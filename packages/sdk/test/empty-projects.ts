import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { installPacked, run } from './packed.ts'

/** Projects with only the packed package and what its reader installs beside it. */

const modules = join(import.meta.dirname, '..', '..', '..', 'node_modules')

export interface EmptyProject {
  folder: string
  /** The errors of the compiler, without those in the files of a framework. */
  complaints: string[]
}

const { folder: installed, home } = await installPacked(tmpdir())

/**
 * Writes programs into a new project and compiles them into `dist`, as strictly as possible: `.mts` is a module, and `.cts`
 * is CommonJS.
 *
 * @param beside names of the packages to install beside the SDK, and their folders in this checkout's `node_modules`
 */
export async function compileProject(
  beside: Readonly<Record<string, string>>,
  programs: Readonly<Record<string, string>>,
): Promise<EmptyProject> {
  const folder = mkdtempSync(join(installed, 'project-'))
  const within = join(folder, 'node_modules')
  cpSync(home, join(within, '@keyrail', 'sdk'), { recursive: true })
  for (const [name, from] of Object.entries({ ...beside, '@types/node': '@types/node' })) {
    assert.ok(existsSync(join(modules, from)), from)
    mkdirSync(dirname(join(within, name)), { recursive: true })
    symlinkSync(join(modules, from), join(within, name))
  }
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    target: 'es2022',
    module: 'nodenext',
    types: ['node'],
    rootDir: '.',
    outDir: 'dist',
  }
  const files = Object.keys(programs)
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text)
  write('package.json', JSON.stringify({ private: true }))
  write('tsconfig.json', JSON.stringify({ compilerOptions, files }))
  for (const [file, text] of Object.entries(programs)) write(file, text)
  const compiler = join(modules, 'typescript', 'bin', 'tsc')
  const { stdout } = await run(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
  }).catch(error => error)
  const complaints = String(stdout)
    .split('\n')
    .filter(line => /^\S/.test(line) && !line.startsWith('../'))
  return { folder, complaints }
}
