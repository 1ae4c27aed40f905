import childProcess from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/**
 * Loaded before a test file of the inner ring: whatever there starts a process, in the test or in what it imports, throws
 * and is noted in the file that `KEYRAIL_TEST_STARTS` names, so that the file fails even if the error is caught.
 */
const notes = process.env.KEYRAIL_TEST_STARTS
/** Questions to the system's user database, which end at once. */
const allowed: readonly unknown[] = ['getent', 'id']

function refuse(name: string, real: (...args: unknown[]) => unknown) {
  return (...args: unknown[]) => {
    const [command] = args
    if (allowed.includes(command)) return real(...args)
    const start = `${name} ${String(command)}`
    if (notes !== undefined) appendFileSync(notes, `${start}\n`)
    throw new Error(`a test of the inner ring starts no process (${start}); name its file *.e2e.test.ts`)
  }
}

const starters = ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const
for (const name of starters) {
  Object.assign(childProcess, { [name]: refuse(name, childProcess[name] as (...args: unknown[]) => unknown) })
}
syncBuiltinESMExports()
