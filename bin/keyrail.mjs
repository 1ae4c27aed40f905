#!/usr/bin/env node
import { join } from 'node:path'
import { runInPlace } from './run.mjs'
import { ROOT } from './runtime.mjs'

await runInPlace(join(ROOT, 'packages/server/src/cli/main.ts'), process.argv.slice(2), { dev: false })
