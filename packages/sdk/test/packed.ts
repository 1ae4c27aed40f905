import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { writePackage } from '../write-package.ts'

/** The package installed from its archive. */

export const run = promisify(execFile)
const source = join(import.meta.dirname, '..')

export interface Packed {
  /** An empty project with the package installed. It is deleted at the end of the test file. */
  folder: string
  /** The folder of the package in it. */
  home: string
  tarball: string
  /** The files and their bytes. */
  files: readonly { path: string; size: number }[]
}

/** @param above the parent folder of the project, whose `node_modules` it finds too */
export async function installPacked(above: string): Promise<Packed> {
  mkdirSync(above, { recursive: true })
  const folder = mkdtempSync(join(above, 'keyrail-sdk-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const workshop = join(folder, 'workshop')
  mkdirSync(workshop)
  for (const file of ['package.json', 'README.md', 'LICENSE'])
    cpSync(join(source, file), join(workshop, file))
  await writePackage(join(workshop, 'dist'))
  const { stdout: packed } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: workshop })
  const [archive] = JSON.parse(packed) as { filename: string; files: Packed['files'] }[]
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const tarball = join(workshop, archive?.filename ?? '')
  // Its peers are optional, so nothing else is downloaded.
  await run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball], {
    cwd: folder,
  })
  const home = join(folder, 'node_modules', '@keyrail', 'sdk')
  return { folder, home, tarball, files: archive?.files ?? [] }
}
