import { globSync } from 'node:fs'
import { join } from 'node:path'
import { codeBlocks, readDocument } from '../../../docs/documents.ts'

/** The lines of code that the SDK's pages tell their readers to write. */

const checkout = join(import.meta.dirname, '..', '..', '..')

export interface Documented {
  page: string
  /** The heading above; of several with code the nearest. */
  heading: string
  code: string
}

/** Every block of TypeScript in the README and in `docs/sdk`, as it stands there. */
export const documented: readonly Documented[] = [
  'packages/sdk/README.md',
  ...globSync('docs/sdk/*.md', { cwd: checkout }).toSorted(),
].flatMap(page =>
  readDocument(page)
    .split(/^#+ /m)
    .flatMap(section =>
      codeBlocks(section)
        .filter(({ language }) => language === 'ts')
        .map(({ text }) => ({ page, heading: section.split('\n')[0] ?? '', code: text })),
    ),
)

/** One import, on as many lines as it takes. */
const imports = /^import (?:[^']*?from )?'[^']+'$/gm

/**
 * The same lines in CommonJS, as the pages say: it has no `await` outside of functions, so what follows the imports stands
 * in one.
 */
export const inFunction = (code: string): string =>
  [
    ...(code.match(imports) ?? []),
    'async function main() {',
    code.replaceAll(imports, ''),
    '}',
    'void main()',
  ].join('\n')
