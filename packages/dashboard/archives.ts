import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
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

/** What npm puts into each archive, beside `dist`. */
const named = ['package.json', 'README.md', 'LICENSE']

/** As npm: the archive of a version has the same bytes wherever it is made, so one lockfile fits all installations. */
const writtenAt = new Date('1985-10-26T08:15:00Z')

/** Writes an archive of each package, as `npm pack` names it, into a build of the dashboard. */
export async function writeArchives(checkout: string, into: string): Promise<void> {
  const out = join(into, 'packages')
  mkdirSync(out, { recursive: true })
  for (const { folder, write } of packages) {
    const work = join(into, '.package')
    await write(join(work, 'dist'))
    for (const name of named) cpSync(join(checkout, folder, name), join(work, name))
    openToAll(work)
    const { name, version } = JSON.parse(readFileSync(join(work, 'package.json'), 'utf8'))
    const file = join(out, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
    const options = {
      file,
      cwd: work,
      prefix: 'package',
      gzip: { level: 9 },
      portable: true,
      mtime: writtenAt,
    }
    await create({ ...options, noPax: true }, [...named, 'dist'])
    rmSync(work, { recursive: true })
  }
}

/** The modes of the files are part of an archive, and a checkout has them by its owner's umask. */
function openToAll(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)
}
