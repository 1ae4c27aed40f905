import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkout, codeBlocks, readDocument } from './documents.ts'

/** The blocks of one language on a runbook, in order, as an operator copies them. */
export const stepsOf = (name: string, language: 'sh' | 'sql'): string[] =>
  codeBlocks(readDocument(`docs/runbooks/${name}.md`).replace(/^ {3}/gm, ''))
    .filter(block => block.language === language)
    .map(({ text }) => text)

/** A shell in which an operator runs such blocks: with `keyrail` on its path, in a new folder. */
export class OperatorShell {
  readonly folder = mkdtempSync(join(tmpdir(), 'keyrail-operator-'))
  readonly #env: Record<string, string>

  constructor(env: Record<string, string>) {
    // As root, programs of another account must reach it.
    chmodSync(this.folder, 0o755)
    const program = join(this.folder, 'keyrail')
    writeFileSync(
      program,
      `#!/bin/sh\nexec "${process.execPath}" "${join(checkout, 'bin/keyrail.mjs')}" "$@"\n`,
    )
    chmodSync(program, 0o755)
    this.#env = { HOME: this.folder, PATH: `${this.folder}:${process.env.PATH}`, ...env }
  }

  run(
    text: string,
    env: Record<string, string> = {},
    identity: { uid?: number; gid?: number } = {},
  ): SpawnSyncReturns<string> {
    const given = { cwd: this.folder, encoding: 'utf8', env: { ...this.#env, ...env }, ...identity } as const
    return spawnSync('/bin/sh', ['-euc', text], given)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
