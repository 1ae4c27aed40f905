import { rolldown } from 'rolldown'

/** Programs bundled as by a vendor, with the bundler of the SDK. */

interface Bundle {
  /** Names of the modules to write, and the source of each. */
  entries: Readonly<Record<string, string>>
  into: string
  /** The export conditions. */
  conditions: readonly string[]
}

/** Writes self-contained ES modules for any runtime. */
export async function bundle({ entries, into, conditions }: Bundle): Promise<void> {
  const made = await rolldown({
    input: entries,
    external: (id: string) => id.startsWith('node:') || id.startsWith('cloudflare:'),
    platform: 'neutral',
    resolve: { conditionNames: [...conditions] },
  })
  await made.write({ dir: into, format: 'es', entryFileNames: '[name].js', chunkFileNames: '[name].js' })
  await made.close()
}
