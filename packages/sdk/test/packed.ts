import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { build } from '../build.ts'

/** The package as it is installed from its archive. */

export const run = promisify(execFile)
const source = join(import.meta.dirname, '..')

export interface Packed {
  /** An empty project with the package installed, gone when the test file has ended. */
  folder: string
  /** Where the package is in it. */
  home: string
  tarball: string
  /** What is in it, in bytes. */
  files: readonly { path: string; size: number }[]
}

/** @param above where the project is made: what it finds beside the package is what stands there */
export async function installPacked(above: string): Promise<Packed> {
  mkdirSync(above, { recursive: true })
  const folder = mkdtempSync(join(above, 'keyrail-sdk-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const workshop = join(folder, 'workshop')
  mkdirSync(workshop)
  for (const file of ['package.json', 'README.md', 'LICENSE'])
    cpSync(join(source, file), join(workshop, file))
  await build(join(workshop, 'dist'))
  const { stdout: packed } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: workshop })
  const [archive] = JSON.parse(packed) as { filename: string; files: Packed['files'] }[]
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const tarball = join(workshop, archive?.filename ?? '')
  // Its peers are optional, so there is nothing else to fetch.
  await run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball], {
    cwd: folder,
  })
  const home = join(folder, 'node_modules', '@keyrail', 'sdk')
  return { folder, home, tarball, files: archive?.files ?? [] }
}
