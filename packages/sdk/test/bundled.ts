import { fileURLToPath } from 'node:url'

/** Programs bundled as by a vendor, with the bundler of the SDK. */

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

interface Bundle {
  /** Names of the modules to write, and the source of each. */
  entries: Readonly<Record<string, string>>
  into: string
  /** The export conditions. */
  conditions: readonly string[]
}

/** Writes self-contained ES modules for any runtime. */
export async function bundle({ entries, into, conditions }: Bundle): Promise<void> {
  const home = new URL('../bundling/', import.meta.url)
  const installer: Installer = await import(new URL('../../../bin/runtime.mjs', import.meta.url).href)
  await installer.ensureInstalled({ root: fileURLToPath(home), dev: true })
  const { rolldown } = await import(new URL('bundle.mjs', home).href)
  const made = await rolldown({
    input: entries,
    external: (id: string) => id.startsWith('node:') || id.startsWith('cloudflare:'),
    platform: 'neutral',
    resolve: { conditionNames: conditions },
  })
  await made.write({ dir: into, format: 'es', entryFileNames: '[name].js', chunkFileNames: '[name].js' })
  await made.close()
}
