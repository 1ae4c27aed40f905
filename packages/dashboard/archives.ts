import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { archiveOf, folderOf, guardFileOf } from '@keyrail/contract/packages'
import { create } from 'tar'
import { writePackage as writeEmbed } from '../embed/write-package.ts'
import { writePackage as writeGuard } from '../guard/write-package.ts'
import { writePackage as writeSdk } from '../sdk/write-package.ts'

/** Packages that a vendor installs from the service of the same version. */
const packages = [
  { folder: 'packages/sdk', write: writeSdk },
  { folder: 'packages/embed', write: writeEmbed },
  { folder: 'packages/guard', write: writeGuard },
]

/** Clients in other languages, which are their sources, without what only tests need. */
const clients = [
  {
    name: 'go',
    isPart: (path: string) => /^(?:[a-z_]+\.go|go\.mod)$/.test(path) && !path.endsWith('_test.go'),
  },
  {
    name: 'python',
    isPart: (path: string) => /^(?:pyproject\.toml|keyrail\/[a-z_/]+\.(?:py|typed))$/.test(path),
  },
] as const

/** What npm puts into each archive, beside `dist`. */
const named = ['package.json', 'README.md', 'LICENSE']

/** As npm: the archive of a version has the same bytes wherever it is made, so one lockfile fits all installations. */
const writtenAt = new Date('1985-10-26T08:15:00Z')

/** Writes an archive of each package, as `npm pack` names it, and the files of the guard, into a build of the dashboard. */
export async function writeArchives(checkout: string, into: string): Promise<void> {
  const out = join(into, 'packages')
  mkdirSync(out, { recursive: true })
  await writePackages(checkout, into, out)
  for (const { name, isPart } of clients) {
    const cwd = join(checkout, 'clients', name)
    const files = readdirSync(cwd, { recursive: true, encoding: 'utf8' }).filter(isPart).toSorted()
    const work = join(into, '.package')
    for (const file of [...files, 'README.md', 'LICENSE']) cpSync(join(cwd, file), join(work, file))
    await pack(
      work,
      { file: join(out, archiveOf(name)), prefix: folderOf(name) },
      readdirSync(work).toSorted(),
    )
  }
  const guard = join(checkout, 'deploy', 'guard')
  for (const name of readdirSync(guard)) cpSync(join(guard, name), join(out, guardFileOf(name)))
}

async function writePackages(checkout: string, into: string, out: string): Promise<void> {
  for (const { folder, write } of packages) {
    const work = join(into, '.package')
    await write(join(work, 'dist'))
    for (const name of named) cpSync(join(checkout, folder, name), join(work, name))
    const { name, version } = JSON.parse(readFileSync(join(work, 'package.json'), 'utf8'))
    const file = join(out, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
    await pack(work, { file, prefix: 'package' }, [...named, 'dist'])
  }
}

/** @param work a folder of its own, which is removed */
async function pack(work: string, to: { file: string; prefix: string }, names: string[]): Promise<void> {
  openToAll(work)
  const options = { ...to, cwd: work, gzip: { level: 9 }, portable: true, mtime: writtenAt }
  await create({ ...options, noPax: true }, names)
  rmSync(work, { recursive: true })
}

/** The modes of the files are part of an archive, and a checkout has them by its owner's umask. */
function openToAll(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)
}
