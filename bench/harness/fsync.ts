import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ended, track } from './children.ts'
import { durableDirectory, liesInMemory } from './durable-directory.ts'
import { findPostgresTool } from './postgres-tools.ts'

export type Fsync = {
  /** Writes of 8 kB, each followed by fdatasync (what Postgres uses on Linux), in a second. */
  perSecond: number
  directory: string
  /** True when the directory is in memory, where no commit is durable. */
  inMemory: boolean
}

/** Runs `pg_test_fsync` where benches keep their databases; undefined where it is not installed. Takes 3 s. */
export async function probeFsync(): Promise<Fsync | undefined> {
  const program = findPostgresTool('pg_test_fsync')
  if (!program) return undefined
  const directory = durableDirectory()
  const folder = mkdtempSync(join(directory, 'keyrail-fsync-'))
  const child = track(
    spawn(program, ['-s', '1', '-f', join(folder, 'probe')], { stdio: ['ignore', 'pipe', 'ignore'] }),
  )
  try {
    let report = ''
    let perSecond: number | undefined
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      report += chunk
      perSecond = parseFdatasync(report)
      // Only the first of its tests is needed; the rest would take another 13 s.
      if (perSecond !== undefined) break
    }
    return perSecond === undefined ? undefined : { perSecond, directory, inMemory: liesInMemory(directory) }
  } finally {
    const end = child.exitCode === null && child.signalCode === null ? ended(child) : undefined
    child.kill('SIGTERM')
    await end
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The first fdatasync line, for one 8 kB write; undefined until the line is complete. */
export function parseFdatasync(report: string): number | undefined {
  const perSecond = /^ +fdatasync +([\d.]+) ops\/sec/m.exec(report)?.[1]
  return perSecond === undefined ? undefined : Number(perSecond)
}
