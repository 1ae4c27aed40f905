import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Runtimes and frameworks that only the SDK is tried on: a lockfile of their own, so that no start waits for them. */
export const runtimesFolder = join(import.meta.dirname, '..', 'runtimes')
const modules = join(runtimesFolder, 'node_modules')

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

/** Installs them where they are not; two tests that come at once install once. */
export async function installRuntimes(): Promise<void> {
  const installer = new URL('../../../bin/runtime.mjs', import.meta.url)
  const { ensureInstalled }: Installer = await import(installer.href)
  await ensureInstalled({ root: runtimesFolder, dev: true })
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

/** @throws Error where the system is none that the lockfile has it for */
export function runtimePath(name: keyof typeof executables): string {
  const path = join(modules, executables[name])
  if (!existsSync(path)) throw new Error(`there is no ${name} for this system in ${runtimesFolder}`)
  return path
}
