import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type HeldRelay, startHeldRelay } from '../../packages/server/test/held-relay.ts'
import { ask, Installation, type Running, type Serving } from '../../packages/server/test/installation.ts'
import { seeded } from '../../packages/server/test/seeded.ts'
import { until } from '../../packages/server/test/until.ts'

/** What gets SIGKILL: the command that imports, the service, or both. */
const victims = ['command', 'service', 'both'] as const
type Victim = (typeof victims)[number]

export interface ImportCrashes {
  kills: Record<Victim, number>
  files: number
  rows: number
  broken: string[]
}

interface Options {
  kills: number
  /** Rows of a file. */
  rows: number
  seed: number
  signal?: AbortSignal
  say?(line: string): void
  /** Changes the file of the progress before a start, to see that the drill finds what it looks for. */
  meddle?(progressPath: string): void
}

/** As many calls of a start are answered at most before a kill. */
const callsMost = 3
const delayMsMost = 250

/** Imports file after file, kills the command or the service at random moments, starts them again, and counts the keys. */
export async function crashImports(options: Options): Promise<ImportCrashes> {
  const stage = new Stage(options.seed)
  const result: ImportCrashes = {
    kills: { command: 0, service: 0, both: 0 },
    files: 0,
    rows: options.rows,
    broken: [],
  }
  const killed = () => Object.values(result.kills).reduce((sum, count) => sum + count, 0)
  try {
    await stage.start()
    while (killed() < options.kills && !options.signal?.aborted) {
      result.files += 1
      await stage.begin(result.files, options.rows)
      while (killed() < options.kills) {
        options.meddle?.(stage.progressPath)
        const victim = await stage.crash()
        if (victim === null) break
        result.kills[victim] += 1
        options.say?.(`${killed()}/${options.kills} kills, ${result.broken.length} broken`)
      }
      result.broken.push(...(await stage.finish()).map(line => `file ${result.files}: ${line}`))
    }
  } finally {
    await stage.close()
  }
  return result
}

class Stage {
  readonly #random
  readonly #installation = new Installation()
  readonly #folder = mkdtempSync(join(tmpdir(), 'keyrail-import-'))
  readonly #file = join(this.#folder, 'keys.csv')
  #service: Serving | null = null
  #relay: HeldRelay | null = null
  #secretKey = ''
  #project = ''
  #digests: string[] = []
  #calls = 0
  #command: Running | null = null

  constructor(seed: number) {
    this.#random = seeded(seed)
  }

  get progressPath(): string {
    return `${this.#file}.progress`
  }

  async start(): Promise<void> {
    this.#service = await this.#installation.serve()
    this.#relay = await startHeldRelay(this.#service.url)
    this.#relay.isHeld = ({ body }) => {
      if (body.includes('"dry_run":false')) this.#calls += 1
      return false
    }
    const body = { name: 'Acme', slug: 'acme' }
    this.#secretKey = (await this.#post('/v1/workspaces', this.#installation.token, body)).secret_key.key
  }

  // biome-ignore lint/suspicious/noExplicitAny: the drill names what it reads.
  async #post(path: string, token: string, body: object): Promise<any> {
    const answer = await ask(`${this.#service?.url}${path}`, { token, body })
    if (answer === null || answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return answer.body
  }

  async begin(at: number, rows: number): Promise<void> {
    const project = await this.#post('/v1/projects', this.#secretKey, {
      name: 'Payments',
      slug: `payments-${at}`,
    })
    this.#project = project.id
    const keys = Array.from({ length: rows }, (_, row) => `old_${at}_${row}`)
    this.#digests = keys.map(key => createHash('sha256').update(key).digest('hex'))
    const lines = keys.map((key, row) => `${key},org_${row % 500}\n`)
    writeFileSync(this.#file, `key,external_id\n${lines.join('')}`)
  }

  #import(): Running {
    const flags = ['--project', this.#project, '--env', 'live', '--format', 'plain']
    return this.#installation.start(['keys', 'import', this.#file, ...flags, '--create-tenants', '--yes'], {
      KEYRAIL_URL: this.#relay?.url ?? '',
      KEYRAIL_SECRET_KEY: this.#secretKey,
    })
  }

  /** Imports until a random moment, and kills. Null: the import ended before. */
  async crash(): Promise<Victim | null> {
    const command = this.#command ?? this.#import()
    this.#command = command
    const from = this.#calls
    const calls = 1 + this.#random.integer(callsMost)
    await until(() => this.#calls >= from + calls || command.child.exitCode !== null, 'calls were sent')
    await sleep(this.#random.integer(delayMsMost))
    if (command.child.exitCode !== null) return null
    const victim = this.#random.pick(victims)
    if (victim !== 'service') {
      await kill(command)
      this.#command = null
    }
    if (victim !== 'command' && this.#service !== null && this.#relay !== null) {
      await kill(this.#service)
      this.#service = await this.#installation.serve()
      this.#relay.target = this.#service.url
    }
    return victim
  }

  /** Lets the import end, and counts. @returns what is wrong */
  async finish(): Promise<string[]> {
    const { code, err } = await (this.#command ?? this.#import()).ended
    this.#command = null
    const broken: string[] = []
    if (code !== 0) broken.push(`the import ended with ${code}: ${err}`)
    if (existsSync(this.progressPath)) broken.push('the file of the progress is left')
    const keys = await this.#lines(`/v1/keys/export?project_id=${this.#project}`)
    broken.push(
      ...unlike(
        keys.flatMap(({ digest }) => (digest ? [String(digest)] : [])),
        this.#digests,
        'key',
      ),
    )
    const audited = await this.#lines('/v1/audit_logs/export')
    const ids = keys.flatMap(({ id }) => (id ? [String(id)] : []))
    const here = new Set(ids)
    const targets = audited
      .filter(({ action, target_id }) => action === 'api_key.imported' && here.has(String(target_id)))
      .map(({ target_id }) => String(target_id))
    broken.push(...unlike(targets, ids, 'audit row'))
    return broken
  }

  async #lines(path: string): Promise<Record<string, unknown>[]> {
    const response = await fetch(`${this.#service?.url}${path}`, {
      headers: { authorization: `Bearer ${this.#secretKey}` },
    })
    if (!response.ok) throw new Error(`${path} was answered ${response.status}`)
    return (await response.text())
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
  }

  async close(): Promise<void> {
    await this.#installation.remove()
    await this.#relay?.close()
    rmSync(this.#folder, { recursive: true })
  }
}

/** With the processes that it started, as an operator's machine loses them. */
async function kill({ child, ended }: Running): Promise<void> {
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  await ended
}

/** What of `wanted` is missing or there more than once, and what is there beside it. */
function unlike(found: readonly string[], wanted: readonly string[], what: string): string[] {
  const counts = new Map<string, number>()
  for (const one of found) counts.set(one, (counts.get(one) ?? 0) + 1)
  const missing = wanted.filter(one => !counts.has(one)).length
  const doubled = [...counts.values()].filter(count => count > 1).length
  const known = new Set(wanted)
  const strange = [...counts.keys()].filter(one => !known.has(one)).length
  return [
    ...(missing > 0 ? [`${missing} rows have no ${what}`] : []),
    ...(doubled > 0 ? [`${doubled} rows have more than one ${what}`] : []),
    ...(strange > 0 ? [`${strange} of the kind ${what} belong to no row`] : []),
  ]
}
