import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import filePlugin from '@size-limit/file'
import sizeLimit from 'size-limit'
import { bundleWidget, servedName } from './bundle.ts'

/**
 * Builds the widget and measures it, compressed with gzip. `npm run check` runs it; it fails when the widget is larger than
 * its budget: 24 KB, of which the networks of keys take 1.5 (docs/decisions/0043).
 */
const kilobyte = 1_024
const bytesMax = 24 * kilobyte

const folder = mkdtempSync(join(tmpdir(), 'keyrail-budgets-'))
try {
  await bundleWidget(folder)
  const checks = [{ files: [join(folder, servedName)], gzip: true }]
  const [measured] = (await sizeLimit([filePlugin], { checks })) as { size?: number }[]
  const size = measured?.size ?? 0
  if (size > bytesMax || process.env.KEYRAIL_SHOW_SIZES !== undefined)
    console.log(`The widget: ${(size / kilobyte).toFixed(1)} of ${bytesMax / kilobyte} KB`)
  if (size === 0 || size > bytesMax) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
