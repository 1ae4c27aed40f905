import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

/** What is not ours stays an import. */
const external = id => !/^[./]/.test(id)

/**
 * Writes modules into a folder: one for each entry, and what several share in others. Names of functions and classes
 * stay, so that a stack trace can be read; those of variables do not, for the sake of the package's size.
 *
 * @param {{ entries: Readonly<Record<string, string>>, into: string, format: 'es' | 'cjs' }} options
 */
export async function bundleCode({ entries, into, format }) {
  const keepNames = { function: true, class: true }
  const bundle = await rolldown({
    input: entries,
    external,
    platform: 'neutral',
    transform: { target: 'es2022' },
    onLog: refuse,
  })
  await bundle.write({
    dir: into,
    format,
    esModule: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    minify: { compress: { keepNames }, mangle: { toplevel: true, keepNames }, codegen: true },
  })
}

/**
 * The same for declarations, of which only those remain that an entry leads to.
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
  const names = { entryFileNames: '[name].d.ts', chunkFileNames: '[name].d.ts' }
  const { output } = await bundle.generate({ format: 'es', ...names })
  return output.map(({ fileName, code }) => ({ name: fileName, text: code }))
}

/** What a bundler warns of is a mistake in what we ship. */
function refuse(level, { message }) {
  if (level === 'warn') throw new Error(message)
}
