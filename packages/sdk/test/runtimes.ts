import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Runtimes and frameworks for tests of the SDK, with their own lockfile, so that starting the service installs none of them. */
export const runtimesFolder = join(import.meta.dirname, '..', 'runtimes')
const modules = join(runtimesFolder, 'node_modules')

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

/** Installs them if they are missing. Concurrent tests install once. */
export const installRuntimes = (): Promise<void> => install(runtimesFolder)

/** The versions of Next before the newest that the SDK is meant for, each in a folder below the runtimes. */
export const olderNext = [14, 15]
export const nextFolder = (major: number): string => join(runtimesFolder, `next-${major}`)
export const installNext = (major: number): Promise<void> => install(nextFolder(major))

async function install(root: string): Promise<void> {
  const installer = new URL('../../../bin/runtime.mjs', import.meta.url)
  const { ensureInstalled }: Installer = await import(installer.href)
  await ensureInstalled({ root, dev: true })
}

const isArm = process.arch === 'arm64'
const executables = {
  oldestNode: `node20.0-${process.arch}/bin/node`,
  node20: `node20-${process.arch}/bin/node`,
  node22: `node22-${process.arch}/bin/node`,
  bun: `@oven/bun-linux-${isArm ? 'aarch64' : 'x64-baseline'}/bin/bun`,
  deno: `@deno/linux-${process.arch}-glibc/deno`,
  workerd: `@cloudflare/workerd-linux-${isArm ? 'arm64' : '64'}/bin/workerd`,
}

/** @throws Error if the lockfile does not have it for this system */
export function runtimePath(name: keyof typeof executables): string {
  const path = join(modules, executables[name])
  if (!existsSync(path)) throw new Error(`${name} for this system is missing in ${runtimesFolder}`)
  return path
}
