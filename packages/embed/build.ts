import { execFileSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { errors } from '@keyrail/contract/errors'
import { declarationsOf } from '../sdk/write-types.ts'
import { bundlePackage } from './bundle.ts'

/** Writes the package as npm gets it: ES modules that import Preact, and types that need no contract. */
const folder = import.meta.dirname

export async function buildPackage(into: string): Promise<void> {
  rmSync(into, { recursive: true, force: true })
  await bundlePackage(into)
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', join(folder, 'tsconfig.build.json'), '--outDir', into], {
    stdio: 'inherit',
  })
  writeFileSync(join(into, 'types.d.ts'), await declarationsOf(join(folder, 'src/types.ts')))
  writeFileSync(join(into, 'errors.d.ts'), errorTypes())
  for (const name of ['svelte.d.ts', 'vue.d.ts']) copyFileSync(join(folder, name), join(into, name))
  for (const file of readdirSync(into, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts')) continue
    const text = readFileSync(join(into, file), 'utf8')
    // The compiler leaves `./client/tokens.ts` in declarations, where it does not resolve.
    writeFileSync(
      join(into, file),
      text.replaceAll("'./src/", "'./").replaceAll(/(['"]\.{1,2}\/[\w./-]+)\.tsx?(['"])/g, '$1.js$2'),
    )
  }
}

const errorTypes = () => `export type ErrorCode = ${Object.keys(errors)
  .map(code => `'${code}'`)
  .join(' | ')}
export interface FieldFault { path: string; message: string }
export interface Problem {
  type: string; title: string; status: number; detail: string; code: ErrorCode; errors?: FieldFault[]; request_id: string
}
`

if (import.meta.main) await buildPackage(resolve(process.argv[2] ?? join(folder, 'dist')))
