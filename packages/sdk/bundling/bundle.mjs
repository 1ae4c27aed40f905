import { basename, dirname } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

/** Tests bundle programs with it. */
export { rolldown }

/** What is not ours stays an import. */
const external = id => !/^[./]/.test(id)

/**
 * Writes modules into a folder as CommonJS: one for each entry, and what several share in others. Names and lines stay
 * as they were written, so that whoever runs the code can read it; comments are in the source maps.
 *
 * @param {{ entries: Readonly<Record<string, string>>, into: string }} options
 * @returns {Promise<{ name: string, exports: string[] }[]>} the modules of the entries, and what each exports
 */
export async function bundleCode({ entries, into }) {
  const bundle = await rolldown({
    input: entries,
    external,
    platform: 'neutral',
    transform: { target: 'es2022' },
    // The maps say which file a line is of.
    experimental: { attachDebugInfo: 'none' },
    plugins: [nodeByName, plainExports],
    onLog: refuse,
  })
  const { output } = await bundle.write({
    dir: into,
    format: 'cjs',
    esModule: true,
    sourcemap: true,
    // A path of the machine that builds is nobody's business: the source stands in the map itself.
    sourcemapPathTransform: path => `keyrail-sdk:///${path.replace(/^.*?\/(?=src\/)/, '')}`,
    comments: { legal: true, annotation: false, jsdoc: false },
    generatedCode: { symbols: false },
    codeSplitting: { groups: [core] },
    entryFileNames: '[name].js',
    chunkFileNames: chunk => `${sharedName(chunk)}.js`,
  })
  return output.filter(({ isEntry }) => isEntry).map(({ name, exports }) => ({ name, exports }))
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
  const { output } = await bundle.generate({
    format: 'es',
    codeSplitting: { groups: [{ name: 'core', test: /./, minShareCount: 2 }] },
    // Whoever reads a declaration reads names.
    minifyInternalExports: false,
    entryFileNames: '[name].d.ts',
    chunkFileNames: chunk => `${sharedName(chunk)}.d.ts`,
  })
  return output.map(({ fileName, code }) => ({ name: fileName, text: code }))
}

/**
 * What needs nothing of Node is one module, which everything else loads: modules that share much with each other hand on
 * every name that they share, and that was 12 KB.
 */
const core = {
  name: 'core',
  test: /\/src\/(?:feed|http|idempotency|limits|protect|runtime|store|verify)\/(?!awake-clock|answer-begins|hold-response|node-request|response-head)[\w-]+\.ts$/,
}

/** Two rooms may have a file of one name: what several entries share is named by its room too. */
function sharedName({ name, moduleIds }) {
  const ours = moduleIds.find(id => basename(id).replace(/(\.d)?\.ts$/, '') === name.replace(/\.d$/, ''))
  return ours === undefined ? name : `${basename(dirname(ours))}-${name.replace(/\.d$/, '')}`
}

/**
 * A bundler that makes an ES module of a server has no `require` for what is Node's own, and the server would fail at
 * its start. Node hands its modules out by name since 20.16; before that there is `require`.
 */
const nodeByName = {
  name: 'node-by-name',
  renderChunk: code => ({
    // No line is added or moved, so the map stays right.
    code: code.replaceAll(
      /^((?:let|const) \w+ = )(require\(("node:[\w/]+")\));$/gm,
      '$1globalThis.process?.getBuiltinModule?.($3) ?? $2;',
    ),
    map: null,
  }),
}

/**
 * What modules share they hand out by getters, which took 8 KB of the package, so that a name may get another value later.
 * None of ours does.
 */
const plainExports = {
  name: 'plain-exports',
  renderChunk: code => ({
    // They stand at the end, behind every line of the map.
    code: code.replaceAll(
      /^Object\.defineProperty\(exports, "(\w+)", \{\s+enumerable: true,\s+get: function ?\(\) \{\s+return ([\w$]+);\s+\}\s+\}\);$/gm,
      (_, name, value) => {
        if (new RegExp(`^let ${RegExp.escape(value)} `, 'm').test(code))
          throw new Error(`${value} may change: make it a const`)
        return `exports.${name} = ${value};`
      },
    ),
    map: null,
  }),
}

/** What a bundler warns of is a mistake in what we ship. */
function refuse(level, { message }) {
  if (level === 'warn') throw new Error(message)
}
