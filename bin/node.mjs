#!/usr/bin/env node
import { runInPlace } from './run.mjs'

const [file, ...args] = process.argv.slice(2)
if (file === undefined) {
  process.stderr.write('Usage: node bin/node.mjs FILE [ARGUMENTS]\n')
  process.exitCode = 2
} else {
  await runInPlace(file, args, { dev: true })
}
