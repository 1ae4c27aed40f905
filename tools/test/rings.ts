import { globSync } from 'node:fs'

/**
 * Two rings of tests. The inner one starts no process: it says within minutes whether a change holds. All that needs
 * processes, browsers, package managers or a second database server is end to end: `*.e2e.test.ts`.
 */
export type Ring = 'inner' | 'e2e'

const places = ['packages', 'clients', 'bin', 'bench', 'drills', 'deploy', 'docs', 'examples', 'tools']

/** The end-to-end files that run with the inner ring: one of each kind, so that the whole is known to start. */
export const smoke: readonly string[] = [
  'packages/server/src/cli/serve/first-start.e2e.test.ts',
  'packages/server/src/cli/backup/restore.e2e.test.ts',
  'packages/dashboard/test/sign-in.e2e.test.ts',
  'packages/embed/test/rows.e2e.test.ts',
  'packages/sdk/test/packed-verify.e2e.test.ts',
  'drills/p03-chain-tampering.e2e.test.ts',
]

export const ringOf = (file: string): Ring => (/\.e2e\.test\.\w+$/.test(file) ? 'e2e' : 'inner')

/** How long a file may run. Milliseconds. */
export const limitMsOf = (ring: Ring): number => (ring === 'inner' ? 120_000 : 300_000)

/** How much of the machine a file takes. A service or a browser works while its test waits, and hardly ever beside it. */
export const weightOf = (ring: Ring): number => (ring === 'inner' ? 1 : 1.5)

/**
 * @param paths files and folders; a file is taken whatever its ring; all places when empty
 * @returns the test files of the rings, sorted
 */
export function findTests(paths: readonly string[], rings: readonly Ring[]): string[] {
  const found = (paths.length > 0 ? paths : places).flatMap(path =>
    /\.test\.\w+$/.test(path)
      ? [path]
      : globSync(`${path}/**/*.test.{ts,mts,mjs}`).filter(file =>
          rings.includes(smoke.includes(file) ? 'inner' : ringOf(file)),
        ),
  )
  return [...new Set(found)].filter(file => !file.includes('node_modules')).toSorted()
}
