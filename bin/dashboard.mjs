#!/usr/bin/env node
import { join } from 'node:path'
import { runInPlace } from './run.mjs'
import { ROOT } from './runtime.mjs'

await runInPlace(join(ROOT, 'packages/dashboard/build.ts'), [], { dev: false })
