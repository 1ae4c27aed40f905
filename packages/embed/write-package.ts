import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundlePackage } from './bundle.ts'

/** Where the checkout keeps the types that the package ships. */
export const typesFolder = join(import.meta.dirname, 'types')

/** What has code, and what only adds types to those of a framework, as modules of its kind read them. */
const entries = ['index', 'react']
const additions = ['vue', 'svelte']

/**
 * Writes the package as npm gets it: ES modules that import Preact, and CommonJS in `cjs`. The types are there, since ES modules can
 * import types of CommonJS with every compiler, and the reverse is not so; each entry of ES modules leads to them.
 */
export async function writePackage(into: string): Promise<void> {
  rmSync(into, { recursive: true, force: true })
  await bundlePackage(into)
  const cjs = join(into, 'cjs')
  mkdirSync(cjs)
  await bundlePackage(cjs, 'cjs')
  writeFileSync(join(cjs, 'package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`)
  cpSync(typesFolder, cjs, { recursive: true })
  for (const name of entries) writeFileSync(join(into, `${name}.d.ts`), `export * from './cjs/${name}.js'\n`)
  for (const name of additions) cpSync(join(typesFolder, `${name}.d.ts`), join(into, `${name}.d.ts`))
}
