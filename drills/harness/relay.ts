import { createServer, connect as dial, type NetConnectOpts, type Server, type Socket } from 'node:net'

/** The direction in which bytes go. */
export type Side = 'to server' | 'to client'

/** A part of a stream where the relay can stop, with its label. */
export interface Piece {
  label: string
  bytes: Buffer
}

/** Splits the bytes of one direction of one connection into pieces; keeps an incomplete one. */
export type Splitter = (chunk: Buffer) => Piece[]

/** Where the relay stops: at the next piece of that side with such a label. */
export interface StopAt {
  side: Side
  label: RegExp
}

/**
 * Stands between a client and a server, and does what networks do at the worst moment: stops at a named place, delays,
 * cuts.
 */
export interface Relay {
  /** From now on every connection stops at such a piece, in that direction. */
  arm(at: StopAt): void
  /** Connections that are stopped now. */
  stopped(): number
  /** Releases the stopped ones and stops no more. */
  release(): void
  /** Cuts every connection; stopped bytes are lost. */
  cut(): void
  /** Every piece is delayed for this many milliseconds in each direction; null drops everything. */
  delay(milliseconds: number | null): void
  close(): Promise<void>
}

export async function startRelay(
  listen: NetConnectOpts & { path?: string; port?: number },
  target: () => NetConnectOpts,
  splitter: (side: Side) => Splitter,
): Promise<Relay & { server: Server }> {
  let armed: StopAt | null = null
  let delayMs: number | null = 0
  const lines = new Set<Line>()

  const server = createServer(client => {
    const upstream = dial(target())
    const line = new Line(client, upstream, splitter, (side, label) => ({
      stop: armed !== null && armed.side === side && armed.label.test(label),
      delayMs,
    }))
    lines.add(line)
    for (const socket of [client, upstream]) socket.on('close', () => lines.delete(line))
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(listen, resolve)
  await promise

  return {
    server,
    arm(at) {
      armed = at
    },
    stopped: () => [...lines].filter(line => line.stopped).length,
    release() {
      armed = null
      for (const line of lines) line.release()
    },
    cut() {
      armed = null
      for (const line of lines) line.cut()
    },
    delay(milliseconds) {
      delayMs = milliseconds
    },
    async close() {
      for (const line of lines) line.cut()
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      await closed.promise
    },
  }
}

type Judge = (side: Side, label: string) => { stop: boolean; delayMs: number | null }

/** One connection through the relay: two sockets and the bytes kept between them. */
class Line {
  readonly #client: Socket
  readonly #upstream: Socket
  /** Pieces after the place where a direction was stopped; null while it flows. */
  readonly #kept: Record<Side, Buffer[] | null> = { 'to server': null, 'to client': null }

  constructor(client: Socket, upstream: Socket, splitter: (side: Side) => Splitter, judge: Judge) {
    this.#client = client
    this.#upstream = upstream
    this.#join('to server', client, upstream, splitter('to server'), judge)
    this.#join('to client', upstream, client, splitter('to client'), judge)
  }

  #join(side: Side, from: Socket, to: Socket, split: Splitter, judge: Judge): void {
    from.on('data', chunk => {
      for (const { label, bytes } of split(chunk)) {
        const { stop, delayMs } = judge(side, label)
        if (stop) this.#kept[side] ??= []
        const kept = this.#kept[side]
        if (kept !== null) kept.push(bytes)
        else if (delayMs === null) continue
        else if (delayMs === 0) to.write(bytes)
        else setTimeout(() => to.write(bytes), delayMs)
      }
    })
    // A side that ends takes the other along, with all kept or delayed bytes.
    from.on('error', () => {})
    from.on('close', () => to.destroy())
  }

  get stopped(): boolean {
    return Object.values(this.#kept).some(kept => kept !== null)
  }

  release(): void {
    const ways: [Side, Socket][] = [
      ['to server', this.#upstream],
      ['to client', this.#client],
    ]
    for (const [side, to] of ways) {
      for (const bytes of this.#kept[side] ?? []) to.write(bytes)
      this.#kept[side] = null
    }
  }

  cut(): void {
    this.#client.destroy()
    this.#upstream.destroy()
  }
}
