#!/usr/bin/env node
import { runGuard } from './command.ts'

// What is left open, such as a poll that the service holds, must not keep an ended guard.
process.exit(await runGuard(process.argv.slice(2), process.env))
