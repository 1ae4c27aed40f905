import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundlePackage } from './bundle.ts'

/** Where the checkout keeps the types that the package ships. */
export const typesFolder = join(import.meta.dirname, 'types')

/** Writes the package as npm gets it: ES modules that import Preact, and its types as the checkout has them. */
export async function writePackage(into: string): Promise<void> {
  rmSync(into, { recursive: true, force: true })
  await bundlePackage(into)
  cpSync(typesFolder, into, { recursive: true })
}
