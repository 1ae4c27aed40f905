import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

/** The file that the package consists of, with the SDK inside. */
export const fileName = 'keyrail-guard.js'

/** Writes the guard into a folder, as one file that needs Node alone. */
export async function writePackage(into: string): Promise<void> {
  rmSync(into, { recursive: true, force: true })
  const bundle = await rolldown({
    input: join(import.meta.dirname, 'src/main.ts'),
    platform: 'node',
    external: /^node:/,
    // An installation that only builds packages has no link to the SDK.
    resolve: { alias: { '@keyrail/sdk': join(import.meta.dirname, '../sdk/src/index.ts') } },
    transform: { target: 'node20' },
    experimental: { attachDebugInfo: 'none' },
    onLog(level, { message }) {
      if (level === 'warn') throw new Error(message)
    },
  })
  await bundle.write({
    dir: into,
    format: 'es',
    // Names and lines stay readable, because there is no source map.
    minify: { compress: { sequences: false }, mangle: false, codegen: { removeWhitespace: false } },
    comments: { legal: true, annotation: false, jsdoc: false },
    codeSplitting: false,
    entryFileNames: fileName,
  })
  chmodSync(join(into, fileName), 0o755)
}
