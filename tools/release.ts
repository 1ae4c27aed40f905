import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readCommandLine, refuse } from './command-line.ts'
import { faultsOfRelease, sectionOf } from './release-faults.ts'

/** `npm run release`: makes everything that a release consists of. */
const usage = `\
npm run release -- FOLDER   writes the files of a release into a new folder, and publishes nothing

Exit code 0: all are there. 1: the message says what is missing.`

const root = join(import.meta.dirname, '..')
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' })

/** Other output of npm would hide a failure in its many lines. */
const npm = (...args: string[]): string =>
  execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1_048_576,
    stdio: ['ignore', 'pipe', 'inherit'],
  })

function release(folder: string): void {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const faults = faultsOfRelease(root, git('status', '--porcelain'))
  if (faults.length > 0) throw new Error(faults.map(fault => `  - ${fault}`).join('\n'))
  // It fails if anything is there, which could be part of another release.
  mkdirSync(folder)

  const name = `keyrail-${version}`
  git('archive', '--format=tar.gz', `--prefix=${name}/`, '-o', join(folder, `${name}.tar.gz`), 'HEAD')
  // Packing itself runs no script: `.npmrc` turns them off.
  npm('run', 'build', '--silent', '-w', 'packages/sdk', '-w', 'packages/embed', '-w', 'packages/guard')
  npm(
    'pack',
    '--silent',
    '-w',
    'packages/sdk',
    '-w',
    'packages/embed',
    '-w',
    'packages/guard',
    '--pack-destination',
    folder,
  )
  const bill = withoutDevelopment(
    JSON.parse(npm('sbom', '--sbom-format', 'cyclonedx', '--package-lock-only')),
  )
  writeFileSync(join(folder, `${name}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`)
  const changes = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version) ?? ''
  writeFileSync(join(folder, 'CHANGES.md'), `${changes}\n`)
  const files = readdirSync(folder).toSorted()
  const sums = files.map(file => `${sha256(readFileSync(join(folder, file)))}  ${file}\n`).join('')
  writeFileSync(join(folder, 'SHA256SUMS'), sums)
  process.stdout.write(sums)
}

interface Bill {
  components: { 'bom-ref': string; purl: string; properties?: { name: string }[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/**
 * Without the benches too, whose packages no service loads. `--omit dev` would also leave out what both the service and the
 * tests need, such as `pg`.
 */
function withoutDevelopment(bill: Bill): Bill {
  const isDevelopment = ({ purl, properties = [] }: Bill['components'][number]) =>
    purl.startsWith('pkg:npm/%40keyrail/bench@') ||
    properties.some(({ name }) => name === 'cdx:npm:package:development')
  const left = new Set(bill.components.filter(isDevelopment).map(one => one['bom-ref']))
  return {
    ...bill,
    components: bill.components.filter(one => !left.has(one['bom-ref'])),
    dependencies: bill.dependencies
      .filter(({ ref }) => !left.has(ref))
      .map(one => ({ ...one, dependsOn: one.dependsOn.filter(ref => !left.has(ref)) })),
  }
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

const [folder] = readCommandLine(usage, {}, { most: 1 }).positionals
if (folder === undefined) refuse('Name one new folder.', usage)
try {
  release(resolve(process.env.INIT_CWD ?? '', folder))
} catch (error) {
  process.stderr.write(`No release:\n${(error as Error).message}\n`)
  process.exitCode = 1
}
