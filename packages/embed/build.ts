import { execFileSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { errors } from '@keyrail/contract/errors'
import { declarationsOf } from '../sdk/write-types.ts'
import { typesFolder, writePackage } from './write-package.ts'

const folder = import.meta.dirname

/** Writes the types that the package ships, which need no contract. */
export async function declareTypes(into: string): Promise<void> {
  rmSync(into, { recursive: true, force: true })
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

if (import.meta.main) {
  await declareTypes(typesFolder)
  await writePackage(resolve(process.argv[2] ?? join(folder, 'dist')))
}
