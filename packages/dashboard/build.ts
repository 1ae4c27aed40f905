import { existsSync, readdirSync, rmSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { removeFailure, writeFailure } from './failure.ts'
import { replaceBuild } from './replace.ts'
import { hashSources } from './sources.ts'
import { readBuildOnDisk } from './state.ts'

/**
 * Makes `dist` the build of the present sources; does nothing if it is. Two processes build one after the other, and
 * the second finds the work done. An interrupted build leaves `dist` as it was, and a folder that the next one removes.
 *
 * `npm start` runs this beside the service, which reads the lines of standard output: `building`, and `waiting` for another
 * process that builds. Exit codes: 0, `dist` is current; 1, the build failed; 2, nothing can be built here, and `dist` is
 * from other sources.
 */

interface Lock {
  release(): void
}

interface Locks {
  takeLock(path: string, options: { onWait(pid: number): void }): Promise<Lock>
}

const folder = import.meta.dirname
const dist = join(folder, 'dist')
const unfinished = '.building-'

const say = (line: string) => process.stdout.write(`${line}\n`)

const isCurrent = () => readBuildOnDisk().kind === 'current'

async function run(): Promise<void> {
  if (isCurrent()) return
  assertInstalled()
  const lock = await lockBuild()
  try {
    if (isCurrent()) return
    say('building')
    yieldToService()
    for (const name of readdirSync(folder))
      if (name.startsWith(unfinished)) rmSync(join(folder, name), { recursive: true, force: true })
    const sources = hashSources()
    const next = join(folder, `${unfinished}${process.pid}`)
    try {
      await bundleOf(sources, next)
      replaceBuild(dist, next, sources)
    } finally {
      // What a full disk has left half done takes up the space that is missing.
      rmSync(next, { recursive: true, force: true })
    }
    removeFailure()
  } finally {
    lock.release()
  }
}

/** The service beside us comes first. The system may refuse that, also where the priority is lower already. */
function yieldToService(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It builds at the priority that it has.
  }
}

async function bundleOf(sources: string, next: string): Promise<void> {
  try {
    // Vite takes as long to load as everything above.
    const { bundle } = await import('./bundle.ts')
    await bundle(next)
  } catch (error) {
    writeFailure({ sources, output: textOf(error) })
    throw error
  }
}

/** @throws {CannotBuild} if this account cannot write here: an image, or a file system for reading. */
async function lockBuild(): Promise<Lock> {
  const locks: Locks = await import(new URL('../../bin/install-lock.mjs', import.meta.url).href)
  try {
    return await locks.takeLock(join(folder, '.build-lock'), { onWait: () => void say('waiting') })
  } catch (error) {
    throw new CannotBuild(`this account cannot write to packages/dashboard (${codeOf(error)})`)
  }
}

/** @throws {CannotBuild} where only what runs the service is installed. */
function assertInstalled(): void {
  try {
    import.meta.resolve('vite')
  } catch {
    throw new CannotBuild('Vite is not installed')
  }
}

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code)

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

class CannotBuild extends Error {}

try {
  await run()
} catch (error) {
  const isOlder = error instanceof CannotBuild && existsSync(join(dist, 'index.html'))
  const message = textOf(error)
  process.stderr.write(`${error instanceof CannotBuild ? `It cannot be built here: ${message}.` : message}\n`)
  process.exitCode = isOlder ? 2 : 1
}
