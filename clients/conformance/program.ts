import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Command, Json } from './case.ts'
import type { Driver } from './run.ts'

/** How long a driver may take for one command. A request that hangs ends after the `timeout` of `open`. */
const ANSWER_MS = 30_000
const SAID_MAX = 4_000

interface Waiting {
  resolve: (answer: Json) => void
  reject: (error: Error) => void
}

/** A driver that is a program: one process for all cases, started anew only if it ends. */
export class Program implements Driver {
  readonly #command: readonly string[]
  readonly #waiting = new Map<number, Waiting>()
  #process: ChildProcessWithoutNullStreams | undefined
  #lastId = 0
  #said = ''

  constructor(command: readonly string[]) {
    this.#command = command
  }

  /** The end of what the program has written to its standard error since the last call. */
  said(): string {
    const said = this.#said
    this.#said = ''
    return said
  }

  send(command: Command): Promise<Json> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error(`the driver did not answer ${command.op} within ${ANSWER_MS} ms`))
      }, ANSWER_MS)
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          clearTimeout(late)
          settle(value)
        }
      this.#waiting.set(id, { resolve: settled(resolve), reject: settled(reject) })
      this.#process ??= this.#start()
      this.#process.stdin.write(`${JSON.stringify({ id, ...command })}\n`)
    })
  }

  /** Ends the input of the program, and waits for its end. */
  async close(): Promise<void> {
    const { ended } = this
    this.#process?.stdin.end()
    await ended
  }

  private get ended(): Promise<void> {
    const child = this.#process
    if (child === undefined) return Promise.resolve()
    return new Promise(resolve => {
      const kill = setTimeout(() => child.kill('SIGKILL'), 5_000)
      child.once('exit', () => {
        clearTimeout(kill)
        resolve()
      })
    })
  }

  #start(): ChildProcessWithoutNullStreams {
    const [program = '', ...args] = this.#command
    const child = spawn(program, args, { stdio: 'pipe' })
    const end = (why: string) => {
      if (this.#process === child) this.#process = undefined
      for (const { reject } of this.#waiting.values()) reject(new Error(why))
      this.#waiting.clear()
    }
    child.once('error', error => end(`the driver cannot be started: ${error.message}`))
    child.once('exit', (code, signal) => end(`the driver ended with ${code ?? signal}`))
    child.stdin.on('error', () => {})
    child.stderr.on('data', chunk => {
      this.#said = (this.#said + String(chunk)).slice(-SAID_MAX)
    })
    createInterface({ input: child.stdout }).on('line', line => this.#read(line))
    return child
  }

  #read(line: string): void {
    let answer: Json
    try {
      answer = JSON.parse(line) as Json
    } catch {
      this.#said = `${this.#said}[not JSON: ${line.slice(0, 200)}]\n`.slice(-SAID_MAX)
      return
    }
    const waiting = this.#waiting.get(Number(answer.id))
    this.#waiting.delete(Number(answer.id))
    waiting?.resolve(answer)
  }
}
