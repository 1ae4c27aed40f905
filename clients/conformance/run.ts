import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command, Json, LoadedCase } from './case.ts'
import { differences } from './compare.ts'
import { ScriptedService } from './service.ts'

/** Runs cases: tells a driver what to do, and plays the service. */

/** A node behind its driver. */
export interface Driver {
  /** Rejects if the driver cannot answer. */
  send(command: Command): Promise<Json>
}

export interface CaseResult {
  name: string
  file: string
  outcome: 'passed' | 'failed' | 'skipped'
  /** What differed, or what the driver does not support. */
  why: readonly string[]
}

/** 2027-01-01T00:00:00Z */
export const BEGINS_AT = 1_798_761_600_000
export const defaults = {
  secret_key: 'krsk_live_000000000000000000000000000000002X21mq',
  project: '01930c3e-8f5a-7c31-9b0e-00000000c000',
  env: 'live',
  wall: BEGINS_AT,
  uptime: 1_000_000_000,
  random: 0.5,
}

export async function* runCases(
  driver: Driver,
  cases: readonly LoadedCase[],
): AsyncGenerator<CaseResult, void> {
  for (const each of cases) yield await new CaseRun(driver, each).run()
}

class Unsupported extends Error {}

class CaseRun {
  readonly #driver: Driver
  readonly #case: LoadedCase
  readonly #service: ScriptedService
  readonly #faults: string[] = []
  /** The wall clock, which is also the service's. */
  #now = BEGINS_AT
  #url = ''
  #directory: string | undefined

  constructor(driver: Driver, each: LoadedCase) {
    this.#driver = driver
    this.#case = each
    this.#service = new ScriptedService({
      secretKey: String(each.open?.secret_key ?? defaults.secret_key),
      now: () => this.#now,
      advance: async ms => void (await this.#tell({ op: 'advance', ms })),
    })
  }

  async run(): Promise<CaseResult> {
    const { name, file } = this.#case
    try {
      this.#url = await this.#service.listen()
      await this.#play()
      for (const step of this.#service.left) this.#faults.push(`step ${step}: nobody asked for this answer`)
    } catch (error) {
      if (error instanceof Unsupported) return { name, file, outcome: 'skipped', why: [error.message] }
      this.#faults.push((error as Error).message)
    } finally {
      await this.#service.close()
      if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true })
    }
    return { name, file, outcome: this.#faults.length === 0 ? 'passed' : 'failed', why: this.#faults }
  }

  async #play(): Promise<void> {
    await this.#tell({ op: 'open' })
    for (const [at, step] of this.#case.steps.entries()) {
      if ('answer' in step) this.#service.queue(at + 1, step.answer, step.asked)
      else if ('disk' in step) damage(this.#directory ?? '', step.disk)
      else {
        const got = await this.#tell(step.do)
        for (const fault of differences(step.gives ?? {}, got))
          this.#faults.push(`step ${at + 1}, ${step.do.op}: ${fault}`)
      }
      this.#faults.push(...this.#service.faults.splice(0))
      // What follows would only repeat it.
      if (this.#faults.length > 0) throw new Error(`the case ended at step ${at + 1}`)
    }
  }

  async #tell(command: Command): Promise<Json> {
    const told = command.op === 'open' ? this.#opening(command) : command
    const { ms = 0, wall = ms } = command as { ms?: number; wall?: number }
    if (command.op === 'advance') this.#now += wall
    const got = await this.#driver.send(told)
    if (got.unsupported === true) throw new Unsupported(command.op)
    if (typeof got.failed === 'string') throw new Error(`${command.op}: the driver failed: ${got.failed}`)
    return got
  }

  #opening(command: Command): Command {
    const told: Command = { url: this.#url, ...defaults, ...this.#case.open, ...command }
    this.#now = Number(told.wall)
    if (told.cache_dir === true) {
      this.#directory ??= mkdtempSync(join(tmpdir(), 'keyrail-conformance-'))
      told.cache_dir = this.#directory
    }
    return told
  }
}

/** Damages every file that a node has left. */
function damage(directory: string, how: 'cut' | 'flip' | 'empty'): void {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(each => each.isFile())
  if (files.length === 0) throw new Error('the node left no file in cache_dir')
  for (const { parentPath, name } of files) {
    const path = join(parentPath, name)
    const bytes = readFileSync(path)
    const middle = bytes.length >> 1
    if (how === 'flip') bytes[middle] = (bytes[middle] ?? 0) ^ 1
    writeFileSync(path, how === 'flip' ? bytes : bytes.subarray(0, how === 'cut' ? middle : 0))
  }
}
