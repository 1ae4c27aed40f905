import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { megabytesOf, performSteps, shippedStages } from './image-steps.ts'

/**
 * Makes what the Dockerfile adds to its base, without an engine, and prints what that weighs:
 *
 *   node bin/node.mjs deploy/try-image.ts
 */
const place = mkdtempSync(join(tmpdir(), 'keyrail-image-'))
try {
  const image = performSteps(place, shippedStages())
  console.log(`${megabytesOf(image).toFixed(1).padStart(8)} MB beyond the base image`)
  const packages = join(image, 'opt/keyrail/node_modules')
  const largest = readdirSync(packages)
    .map(name => ({ name, megabytes: megabytesOf(join(packages, name)) }))
    .toSorted((one, other) => other.megabytes - one.megabytes)
  for (const { name, megabytes } of largest.slice(0, 10))
    console.log(`${megabytes.toFixed(1).padStart(8)} MB  ${name}`)
} finally {
  rmSync(place, { recursive: true, force: true })
}
