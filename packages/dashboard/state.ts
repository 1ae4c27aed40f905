import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readFailure } from './failure.ts'
import { hashSources } from './sources.ts'
import { readStamp } from './stamp.ts'

/** How `dist` and the present sources relate. `output`: what the build printed. */
type BuildOnDisk =
  | { readonly kind: 'current' | 'older' | 'missing' }
  | { readonly kind: 'failed'; readonly output: string }

const dist = join(import.meta.dirname, 'dist')

/** Builds and changes nothing. */
export function readBuildOnDisk(): BuildOnDisk {
  const sources = hashSources()
  const exists = existsSync(join(dist, 'index.html'))
  if (exists && readStamp(dist)?.sources === sources) return { kind: 'current' }
  const failure = readFailure()
  if (failure?.sources === sources) return { kind: 'failed', output: failure.output }
  return { kind: exists ? 'older' : 'missing' }
}
