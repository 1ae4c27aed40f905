import { globSync } from 'node:fs'
import { join } from 'node:path'
import { codeBlocks, readDocument } from '../../../docs/documents.ts'

/** The code blocks of the SDK's pages. */

const checkout = join(import.meta.dirname, '..', '..', '..')

export interface Documented {
  page: string
  /** The nearest heading above. */
  heading: string
  code: string
}

/** Every block of TypeScript in the README and in `docs/sdk`, unchanged. */
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

/** One import, on one or more lines. */
const imports = /^import (?:[^']*?from )?'[^']+'$/gm

/**
 * The same code in CommonJS, as the pages explain: it has no top-level `await`, so the code after the imports is
 * in a function.
 */
export const inFunction = (code: string): string =>
  [
    ...(code.match(imports) ?? []),
    'async function main() {',
    code.replaceAll(imports, ''),
    '}',
    'void main()',
  ].join('\n')
