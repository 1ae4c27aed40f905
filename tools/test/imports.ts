import { relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'

/** Who imports a module, directly. Paths from this folder. */
export type Importers = ReadonlyMap<string, readonly string[]>

/**
 * Reads what test files import, and what that imports in turn, as far as it belongs to this repository. An import of types
 * alone is none: the compiler checks those.
 *
 * @throws naming a module that cannot be parsed or found
 */
export async function readImporters(files: readonly string[]): Promise<Importers> {
  const importers = new Map<string, string[]>(files.map(file => [file, []]))
  const build = await rolldown({
    input: [...files],
    platform: 'node',
    treeshake: false,
    logLevel: 'silent',
    resolve: { conditionNames: ['keyrail-source', 'node', 'import'] },
    external: id => !/^(\.|\/|@keyrail\/)/.test(id) && !files.includes(id),
    plugins: [
      {
        name: 'importers',
        moduleParsed({ id, importedIds, dynamicallyImportedIds }) {
          for (const imported of [...importedIds, ...dynamicallyImportedIds]) {
            const path = pathOf(imported)
            importers.set(path, [...(importers.get(path) ?? []), pathOf(id)])
          }
        },
      },
    ],
  })
  try {
    await build.generate({})
  } finally {
    await build.close()
  }
  return importers
}

const pathOf = (id: string): string => (id.startsWith('/') ? relative(resolve('.'), id) : id)
