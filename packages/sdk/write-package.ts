import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleCode, giveModules, givePeers, type Written } from './bundle-code.ts'
import { entriesOf, entryNames, typedNames } from './entries.ts'

const folder = import.meta.dirname

/** Where the checkout keeps the types that the package ships. */
export const typesFolder = join(folder, 'types')

/**
 * Writes the code, and its types as the checkout has them, into `cjs` below a folder, as CommonJS. `esm` has one re-exporting
 * line for each entry, behind an import of Node's modules where the code needs them (`node.js`): ES modules can import code and
 * types of CommonJS, while the reverse does not work on every Node, under Jest and with every compiler. So a process has one
 * copy of the code, and the package is small enough for readable code.
 */
export async function writePackage(into: string): Promise<void> {
  const [esm, cjs] = [join(into, 'esm'), join(into, 'cjs')]
  for (const [out, type] of [
    [esm, 'module'],
    [cjs, 'commonjs'],
  ] as const) {
    rmSync(out, { recursive: true, force: true })
    mkdirSync(out, { recursive: true })
    writeFileSync(join(out, 'package.json'), `${JSON.stringify({ type })}\n`)
  }
  const entries = entriesOf(entryNames(), join(folder, 'src'), '.ts')
  const written = await bundleCode({ entries, into: cjs })
  for (const each of written) writeFileSync(join(esm, `${each.name}.js`), doorTo(each))
  const needed = new Set(written.flatMap(({ needs }) => needs))
  writeFileSync(join(esm, 'node.js'), giveModules([...needed].toSorted()))
  writeFileSync(join(esm, 'peers.js'), givePeers([...new Set(written.flatMap(({ peers }) => peers))]))
  cpSync(typesFolder, cjs, { recursive: true })
  for (const name of typedNames())
    writeFileSync(join(esm, `${name}.d.ts`), `export * from '../cjs/${name}.js'\n`)
}

/** A module without exports is imported for its side effects. Modules of Node come first, because the code uses them at once. */
const doorTo = ({ name, exports, needs, peers }: Written): string =>
  (needs.length === 0 ? '' : "import './node.js'\n") +
  (peers.length === 0 ? '' : "import './peers.js'\n") +
  (exports.length === 0
    ? `import '../cjs/${name}.js'\n`
    : `export { ${exports.toSorted().join(', ')} } from '../cjs/${name}.js'\n`)
