import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { after } from 'node:test'
import { bundle } from './bundled.ts'
import { runtimePath } from './runtimes.ts'

/** All modules reachable from some modules, including these. */
export function reachedFrom(folder: string, entries: readonly string[]): string[] {
  const reached = new Set(entries)
  for (const name of reached) {
    const text = readFileSync(join(folder, name), 'utf8')
    for (const [, other = ''] of text.matchAll(
      /(?:from|import\(|import|require\()\s*['"`](\.\.?\/[^'"`]+)['"`]/g,
    ))
      reached.add(join(dirname(name), other))
  }
  return [...reached]
}

/** Modules to add unchanged, by name. */
interface Library {
  name: string
  folder: string
  entries: readonly string[]
}

export interface WorkerOptions {
  /** A folder for files. */
  folder: string
  /** The installed package. */
  home: string
  program: string
  /** Its imports beside the package, which is `./sdk`. */
  libraries?: readonly Library[]
  bindings: Readonly<Record<string, string>>
  flags?: readonly string[]
}

/** The package bundled for workers, once per test file. */
function bundledBelow(home: string): Promise<string> {
  bundled ??= (async () => {
    const into = join(home, 'bundled')
    const names = ['worker', 'web', 'next', 'hono', 'admin']
    const entries = Object.fromEntries(names.map(name => [name, join(home, 'dist', 'esm', `${name}.js`)]))
    await bundle({ entries, into, conditions: ['workerd', 'import'] })
    return into
  })()
  return bundled
}
let bundled: Promise<string> | undefined

const workers: ChildProcess[] = []
// In the file's own context, because callbacks of the bundler lose the context of a test.
after(() => {
  for (const worker of workers) worker.kill('SIGKILL')
})

/**
 * Runs a worker on Cloudflare's runtime, which does not start if a module imports something that it lacks.
 *
 * @returns its address; it ends with the test file
 */
export async function serveWorker({
  folder,
  home,
  program,
  libraries = [],
  bindings,
  flags = [],
}: WorkerOptions): Promise<string> {
  const entries = ['worker.js', 'web.js', 'next.js', 'hono.js', 'admin.js']
  const sdk = { name: 'sdk', folder: await bundledBelow(home), entries }
  const names = ['main.js']
  writeFileSync(join(folder, 'main.js'), program)
  for (const library of [sdk, ...libraries]) {
    for (const module of reachedFrom(library.folder, library.entries)) {
      const name = join(library.name, module)
      cpSync(join(library.folder, module), join(folder, name))
      names.push(name)
    }
  }
  const quoted = (text: string) => JSON.stringify(text)
  const config = `
    using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [(name = "main", worker = .worker), (name = "here", network = (allow = ["local"]))],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
    );
    const worker :Workerd.Worker = (
      modules = [${names.map(name => `(name = ${quoted(name)}, esModule = embed ${quoted(name)})`).join(', ')}],
      bindings = [${Object.entries(bindings)
        .map(([name, text]) => `(name = ${quoted(name)}, text = ${quoted(text)})`)
        .join(', ')}],
      compatibilityDate = "2026-11-01",
      compatibilityFlags = [${flags.map(quoted).join(', ')}],
      globalOutbound = "here",
    );`
  const file = join(folder, 'config.capnp')
  writeFileSync(file, config)
  const child = spawn(runtimePath('workerd'), ['serve', '--control-fd=3', file], {
    cwd: dirname(file),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: {},
  })
  workers.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`workerd ended with ${code}: ${output}`)
  })
  ended.catch(() => {})
  const control = child.stdio[3] as Readable
  let log = ''
  control.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  for (;;) {
    const listening = /"event":\s*"listen".*?"port":\s*(\d+)/.exec(log)
    if (listening) return `http://127.0.0.1:${listening[1]}`
    await Promise.race([once(control, 'data'), ended])
  }
}
