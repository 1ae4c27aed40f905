/** Programs bundled as a vendor bundles them, by what bundles the SDK. */

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

interface Bundle {
  /** Names of the modules that are written, and where each begins. */
  entries: Readonly<Record<string, string>>
  into: string
  /** Which of the package's exports are taken. */
  conditions: readonly string[]
}

/** Writes ES modules that have everything in them, for no runtime in particular. */
export async function bundle({ entries, into, conditions }: Bundle): Promise<void> {
  const home = new URL('../bundling/', import.meta.url)
  const installer: Installer = await import(new URL('../../../bin/runtime.mjs', import.meta.url).href)
  await installer.ensureInstalled({ root: home.pathname, dev: true })
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
