import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'vite'
import { bundleWidget, servedName } from '../embed/bundle.ts'
import { writeArchives } from './archives.ts'
import { config } from './config.ts'
import { writeGuides } from './guides/write.ts'

const checkout = join(import.meta.dirname, '..', '..')

/** Writes a build of the dashboard into a folder, with the widget beside its hashed files, the guides and the packages. */
export async function bundle(into: string): Promise<void> {
  await build({
    ...config,
    mode: 'production',
    logLevel: 'warn',
    build: { ...config.build, outDir: into },
  })
  await addWidget(into)
  writeGuides(checkout, into)
  await writeArchives(checkout, into)
}

/** Adds the widget to a build, named by its content, and writes `widget.json`, by which the service finds it. */
export async function addWidget(into: string): Promise<void> {
  const work = join(into, '.widget')
  await bundleWidget(work)
  const script = readFileSync(join(work, servedName))
  const digest = hash('sha384', script, 'base64url')
  const file = servedName.replace('.js', `-${digest.slice(0, 16)}.js`)
  mkdirSync(join(into, 'assets'), { recursive: true })
  renameSync(join(work, servedName), join(into, 'assets', file))
  rmSync(work, { recursive: true })
  const integrity = `sha384-${Buffer.from(digest, 'base64url').toString('base64')}`
  writeFileSync(join(into, 'widget.json'), `${JSON.stringify({ file, integrity })}\n`)
}
