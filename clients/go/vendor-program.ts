import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePort } from '../../packages/server/test/free-port.ts'
import { until } from '../../packages/server/test/until.ts'

/**
 * For every call of `go`: nothing comes from the network. The cache is that of the account, where what was compiled is named by its
 * content: with one of its own, each run would compile the standard library for half a minute.
 */
export const goEnv = { ...process.env, GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' }

interface Heard {
  status: number
  headers: Headers
  text: string
}

/** The program of the page, while it runs. */
export interface Vendor {
  ask(key?: string): Promise<Heard>
  /** Ends it as an operator does, and resolves with its exit code. */
  end(): Promise<number | null>
}

/** Programs of a vendor, built in a folder of their own. */
export class VendorPrograms {
  readonly #folder: string
  readonly #children: ChildProcess[] = []
  #output = ''

  constructor(folder: string) {
    this.#folder = folder
  }

  output(): string {
    return this.#output
  }

  /** The program of the page, with port and options from the environment. A text that it no longer has is an error. */
  edited(program: string): string {
    const edits = [
      ['":8080"', 'os.Getenv("LISTEN")'],
      ['"os/signal"', '"os"\n\t"os/signal"\n\t"time"'],
      ['keyrail.Options{}', 'options()'],
      [
        'func main() {',
        `func options() keyrail.Options {
	ttl, _ := time.ParseDuration(os.Getenv("CACHED_TTL"))
	return keyrail.Options{
		CacheDir: os.Getenv("CACHE_DIR"), CachedTTL: ttl,
		PollInterval: 200 * time.Millisecond, ReportInterval: 500 * time.Millisecond,
	}
}

func main() {`,
      ],
    ] as const
    return edits.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`the page no longer has ${from}`)
      return text.replace(from, to)
    }, program)
  }

  /** Starts the program, and waits until it answers. */
  async start(env: Record<string, string>): Promise<Vendor> {
    const address = `127.0.0.1:${await freePort()}`
    const child = spawn(join(this.#folder, 'orders'), [], {
      env: { PATH: process.env.PATH, LISTEN: address, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#children.push(child)
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', text => {
        this.#output += text
      })
    const ended = once(child, 'exit')
    const ask = async (key?: string): Promise<Heard> => {
      const headers = { ...(key !== undefined && { authorization: `Bearer ${key}` }) }
      const answer = await fetch(`http://${address}/orders`, { headers })
      return { status: answer.status, headers: answer.headers, text: await answer.text() }
    }
    await until(
      () =>
        ask().then(
          () => true,
          () => child.exitCode !== null,
        ),
      'the program listens',
    )
    if (child.exitCode !== null) throw new Error(this.#output)
    return {
      ask,
      async end() {
        child.kill('SIGTERM')
        const [code] = await ended
        return code
      },
    }
  }

  async kill(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
}
