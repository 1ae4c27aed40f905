import { cpSync, globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { guidePages } from '../sources.ts'

const checkout = join(import.meta.dirname, '..', '..', '..')

/** Where the sources of the copy are. */
export interface DashboardCopy {
  readonly root: string
  readonly folder: string
  /** Replaces a source; the path is relative to the dashboard. */
  write(path: string, text: string): void
}

/** A copy of the dashboard's build, with the sources of a small page, so that a build takes a second. */
export function copyDashboard(root: string, { packages = true } = {}): DashboardCopy {
  const folder = join(root, 'packages/dashboard')
  const copied = globSync(
    [
      'bin/*.mjs',
      'clients/{go,python}/*.*',
      'clients/python/keyrail/**/*.*',
      'clients/{go,python}/LICENSE',
      'deploy/guard/*',
      'packages/dashboard/{*.ts,*.json}',
      'packages/dashboard/guides/*.*',
      guidePages,
      'docs/pictures/*',
      'packages/embed/{bundle.ts,write-package.ts,*.json,README.md,LICENSE}',
      'packages/embed/{src,types}/**/*.*',
      'packages/guard/{write-package.ts,*.json,README.md,LICENSE}',
      'packages/guard/src/*.*',
      'packages/sdk/{bundle-code.ts,entries.ts,write-package.ts,*.json,README.md,LICENSE}',
      'packages/sdk/{src,types}/**/*.*',
      'packages/contract/package.json',
      'tsconfig.base.json',
    ],
    {
      cwd: checkout,
      exclude: ['**/*.test.*'],
    },
  )
  for (const path of copied) cpSync(join(checkout, path), join(root, path))
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  writeFileSync(join(root, 'package-lock.json'), '{}')
  write(
    'index.html',
    '<!doctype html><html lang="en"><head><meta name="csp-nonce" content="__CSP_NONCE__"><title>Copy</title></head>' +
      '<body><main><h1>Copy</h1></main><script type="module" src="/src/main.tsx"></script></body></html>',
  )
  write('src/main.tsx', `document.title = 'first'\n`)
  if (packages) linkPackages(root)
  return { root, folder, write }
}

/** Gives a copy the installed packages. */
export function linkPackages(root: string): void {
  for (const place of ['.', 'packages/dashboard'])
    symlinkSync(join(checkout, place, 'node_modules'), join(root, place, 'node_modules'))
}
