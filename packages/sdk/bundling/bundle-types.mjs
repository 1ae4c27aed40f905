import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { external, refuse, sharedName } from '../bundle-code.ts'

/**
 * Writes declarations as `bundleCode` writes code, and keeps only those reachable from an entry.
 *
 * @param {{ entries: Readonly<Record<string, string>> }} options
 * @returns {Promise<{ name: string, text: string }[]>}
 */
export async function bundleTypes({ entries }) {
  const bundle = await rolldown({
    input: entries,
    external,
    plugins: [dts({ dtsInput: true })],
    onLog: refuse,
  })
  const { output } = await bundle.generate({
    format: 'es',
    codeSplitting: { groups: [{ name: 'core', test: /./, minShareCount: 2 }] },
    // Readable names in declarations.
    minifyInternalExports: false,
    entryFileNames: '[name].d.ts',
    chunkFileNames: chunk => `${sharedName(chunk)}.d.ts`,
  })
  return output.map(({ fileName, code }) => ({ name: fileName, text: code }))
}
