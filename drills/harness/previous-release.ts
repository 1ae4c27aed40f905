import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encryptionKey } from '../../packages/server/test/encryption-key.ts'
import { root } from '../../packages/server/test/installation.ts'
import { until } from '../../packages/server/test/until.ts'
import { bootstrapToken } from './service.ts'

/** A revision of this repository that stands for the release before. */
export interface Previous {
  readonly revision: string
  /** How it was chosen. */
  readonly reason: string
}

const git = (repository: string, ...args: string[]): string | null => {
  const { status, stdout } = spawnSync('git', ['-C', repository, ...args], { encoding: 'utf8' })
  return status === 0 && stdout.trim() !== '' ? stdout.trim() : null
}

/** While no release has a tag: the last commit that installations ran before this one, with another schema. */
const lastDeployed = '04b280d'

/**
 * The newest tag of a release below this commit, or else the last deployed commit. Null without a history, as in a tarball.
 */
export function findPrevious(repository: string = root): Previous | null {
  // A folder inside another repository has no separate history.
  if (git(repository, 'rev-parse', '--show-prefix') !== null) return null
  const tag = git(repository, 'describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^')
  if (tag !== null) return { revision: tag, reason: 'the newest tag below this commit' }
  const revision = git(repository, 'rev-parse', '--verify', '--quiet', '--short', `${lastDeployed}^{commit}`)
  return revision === null ? null : { revision, reason: 'the last deployed commit; no release has a tag' }
}

/** A tree of code, with the packages that are installed here. */
export interface Tree {
  readonly path: string
  remove(): void
}

export const ownTree: Tree = { path: root, remove() {} }

/** Writes the files of a revision into a temporary folder; the repository stays as it is. */
export function checkOut(revision: string): Tree {
  const path = mkdtempSync(join(tmpdir(), 'keyrail-previous-'))
  chmodSync(path, 0o755)
  const archive = execFileSync('git', ['-C', root, 'archive', '--format=tar', revision], {
    maxBuffer: 2 ** 30,
  })
  execFileSync('tar', ['-x', '-C', path], { input: archive })
  mkdirSync(join(path, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@keyrail') symlinkSync(join(root, 'node_modules', name), join(path, 'node_modules', name))
  // Its own packages, not those of this release.
  mkdirSync(join(path, 'node_modules/@keyrail'))
  for (const name of readdirSync(join(path, 'packages')))
    symlinkSync(join(path, 'packages', name), join(path, 'node_modules/@keyrail', name))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A process of the service that runs the code of a tree. */
export interface Released {
  readonly url: string
  /** Ends it in order. */
  stop(): Promise<void>
}

const start = (tree: Tree, args: string[], env: Record<string, string>): ChildProcess =>
  spawn(
    process.execPath,
    ['--conditions=keyrail-source', join(tree.path, 'packages/server/src/cli/main.ts'), ...args],
    { cwd: tree.path, stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH ?? '', ...env } },
  )

function hear(child: ChildProcess): { text: string } {
  const heard = { text: '' }
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', chunk => {
      heard.text += chunk
    })
  return heard
}

export async function migrateWith(tree: Tree, databaseUrl: string): Promise<void> {
  const child = start(tree, ['migrate'], { DATABASE_URL: databaseUrl })
  const heard = hear(child)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`keyrail migrate ended with ${code}: ${heard.text}`)
}

export async function serveWith(tree: Tree, databaseUrl: string): Promise<Released> {
  const dataDir = mkdtempSync(join(tmpdir(), 'keyrail-release-'))
  const child = start(tree, ['serve'], {
    DATABASE_URL: databaseUrl,
    SERVICE_ENCRYPTION_KEY: encryptionKey,
    SERVICE_BOOTSTRAP_TOKEN: bootstrapToken,
    SERVICE_DASHBOARD: 'off',
    SERVICE_DATA_DIR: dataDir,
    SERVICE_DATABASE_POOL: '5',
    SERVICE_PORT: '0',
    // One for all processes: it is the issuer of the tokens that they sign.
    SERVICE_PUBLIC_URL: 'http://localhost:8080',
  })
  const heard = hear(child)
  const ended = once(child, 'close')
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  const url = () => /listens on (http:\S+)$/m.exec(heard.text)?.[1]
  await until(() => isOver() || url() !== undefined, 'the release listens')
  const listening = url()
  if (listening === undefined) throw new Error(`the release ended: ${heard.text}`)
  return {
    url: listening,
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
