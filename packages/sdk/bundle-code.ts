import { basename, dirname } from 'node:path'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'
import type { Entries } from './entries.ts'

/** Imports of other packages stay imports. */
export const external = (id: string): boolean => !/^(?:[./]|@keyrail\/contract\/)/.test(id)

/** A module of an entry. */
export interface Written {
  name: string
  exports: string[]
  /** Modules of Node. */
  needs: string[]
  /** Modules of a framework, which the ES module imports for it. */
  peers: string[]
}

/**
 * Writes CommonJS modules into a folder: one for each entry, and others for shared code. Names and lines stay as in the
 * source, so that the code is readable; comments are in the source maps.
 */
export async function bundleCode({ entries, into }: { entries: Entries; into: string }): Promise<Written[]> {
  const bundle = await rolldown({
    input: entries,
    external,
    platform: 'neutral',
    transform: { target: 'es2022' },
    // The source maps name the file of each line.
    experimental: { attachDebugInfo: 'none' },
    plugins: [nodeByName, plainExports],
    onLog: refuse,
  })
  const { output } = await bundle.write({
    dir: into,
    format: 'cjs',
    esModule: true,
    sourcemap: true,
    minify: shorter,
    // Without paths of the machine that builds: the map contains the source itself.
    sourcemapPathTransform: path => `keyrail-sdk:///${path.replace(/^.*?\/(?=src\/)/, '')}`,
    comments: { legal: true, annotation: false, jsdoc: false },
    generatedCode: { symbols: false },
    codeSplitting: { groups: [core] },
    entryFileNames: '[name].js',
    chunkFileNames: chunk => `${sharedName(chunk)}.js`,
  })
  const chunks = output.filter(one => one.type === 'chunk')
  return chunks
    .filter(({ isEntry }) => isEntry)
    .map(({ name, exports, fileName, code }) => ({
      name,
      exports,
      needs: needsOf(chunks, fileName),
      peers: Array.from(code.matchAll(/ require\("(@nestjs\/\w+)"\)/g), ([, peer = '']) => peer),
    }))
}

/** Shortens statements only: names, functions and white space stay, so the code remains readable. Takes 12 KB off. */
const shorter = {
  compress: { sequences: false },
  mangle: false,
  codegen: { removeWhitespace: false },
}

/** The modules of Node that a module needs, itself or by those that it loads. */
function needsOf(chunks: readonly OutputChunk[], entry: string): string[] {
  const reached = new Set([entry])
  const needs = new Set<string>()
  for (const file of reached) {
    const code = chunks.find(({ fileName }) => fileName === file)?.code ?? ''
    for (const [, other = ''] of code.matchAll(/require\("\.\/([\w-]+\.js)"\)/g)) reached.add(other)
    for (const [, needed = ''] of code.matchAll(/ require\("(node:[\w/]+)"\)/g)) needs.add(needed)
  }
  return [...needs].toSorted()
}

/**
 * An ES module that imports modules of Node, so that a bundler keeps the imports, and gives them to the code in CommonJS.
 */
export function giveModules(names: readonly string[]): string {
  const imports = names.map((name, at) => `import m${at} from '${name}'\n`).join('')
  return `${imports}${given} = { ${names.map((name, at) => `'${name}': m${at}`).join(', ')} }\n`
}

/**
 * The same for modules of Nest: from version 12 on they are ES modules, which CommonJS cannot require before Node 20.19.
 */
export function givePeers(names: readonly string[]): string {
  const imports = names.map((name, at) => `import * as m${at} from '${name}'\n`).join('')
  const given = names.map((name, at) => `'${name}': m${at}.default ?? m${at}`).join(', ')
  return `${imports}${peers} = { ${given} }\n`
}

/**
 * Code that needs nothing of Node is one module, which everything else loads. Separate modules would re-export every name
 * that they share, which took 12 KB.
 */
const core = {
  name: 'core',
  test: /\/src\/(?:admin|embed|feed|http|idempotency|limits|protect|runtime|store|verify)\/(?!awake-clock|answer-begins|hold-response|nest-marks|node-request|replay-answer|response-chunks|response-head)[\w-]+\.ts$/,
}

/** Names a shared module by its room too, because two rooms may have a file with the same name. */
export function sharedName({ name, moduleIds }: { name: string; moduleIds: readonly string[] }): string {
  const ours = moduleIds.find(id => basename(id).replace(/(\.d)?\.ts$/, '') === name.replace(/\.d$/, ''))
  return ours === undefined ? name : `${basename(dirname(ours))}-${name.replace(/\.d$/, '')}`
}

/** Where the ES modules put the modules of Node that they import, for the code in CommonJS. */
const given = 'globalThis[Symbol.for("@keyrail/sdk node")]'
const peers = 'globalThis[Symbol.for("@keyrail/sdk peers")]'

/**
 * In a server bundled as an ES module `require` does not exist, so requiring a module of Node would fail at
 * startup. Node returns its modules by name since 20.16. On older versions, an ES module has imported them before
 * (`giveModules`), and CommonJS uses `require`.
 */
const nodeByName: Plugin = {
  name: 'node-by-name',
  renderChunk: code => ({
    // Adds and moves no line, so the map stays right.
    code: code
      .replaceAll(
        /^((?:let|const) \w+ = )(require\(("node:[\w/]+")\));$/gm,
        `$1globalThis.process?.getBuiltinModule?.($3) ?? ${given}?.[$3] ?? $2;`,
      )
      .replaceAll(/^((?:let|const) \w+ = )(require\(("@nestjs\/\w+")\));$/gm, `$1${peers}?.[$3] ?? $2;`)
      // Half of the bytes of a name that entries use two hundred times.
      .replaceAll(/\brequire_core\b/g, 'core'),
    map: null,
  }),
}

/**
 * The bundler exports shared names by getters, in case a value changes later, which took 8 KB of the package.
 * None of ours changes. A shared module exports all of them at once; Node would not find the names of an entry.
 */
const plainExports: Plugin = {
  name: 'plain-exports',
  renderChunk: (code, { isEntry }) => ({
    // They are at the end, after every line of the map.
    code: joined(
      isEntry,
      code.replaceAll(
        /^Object\.defineProperty\(exports, "([\w$]+)", \{\s+enumerable: true,\s+get: function ?\(\) \{\s+return ([\w$]+);\s+\}\s+\}\);$/gm,
        (_, name: string, value: string) => {
          if (code.includes(`\nlet ${value} `)) throw new Error(`${value} may change: make it a const`)
          return `exports.${name} = ${value};`
        },
      ),
    ),
    map: null,
  }),
}

function joined(isEntry: boolean, code: string): string {
  const lines = [...code.matchAll(/^exports\.([\w$]+) = ([\w$]+);\n?/gm)]
  if (isEntry || lines.length === 0) return code
  const names = lines.map(([, name, value]) => (name === value ? name : `${name}: ${value}`))
  const rest = code.replaceAll(/^exports\.[\w$]+ = [\w$]+;\n?/gm, '').trimEnd()
  if (/^exports\.[\w$]|^Object\.defineProperty\(exports, "(?!__esModule)/m.test(rest))
    throw new Error('an export would be lost')
  return `${rest}\nmodule.exports = { ${names.join(', ')} };\n`
}

/** A warning of the bundler is a mistake in the package. */
export function refuse(level: string, { message }: { message: string }): void {
  if (level === 'warn') throw new Error(message)
}
