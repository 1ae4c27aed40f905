import { writeSync } from 'node:fs'

/** Where log lines go: it neither blocks nor holds the process, whatever the descriptor does. */
export interface LogOutput {
  write(line: string): void
  /** Writes the waiting lines, as far as the descriptor takes them in time. Called by `log.flush()`, and before an exit. */
  flush(done?: (error?: Error) => void): void
  /** Lines that were dropped so far. */
  readonly dropped: number
}

interface Parts {
  /** A file, or a pipe or socket that does not block after `unblock`. */
  fd: number
  /** Called before writes: another process that shares the pipe may let it block again. */
  unblock?(): void
  /** The line that says how many lines are missing. */
  describeDropped(lines: number): string
  /** Lines wait up to this size: two seconds of a busy process. */
  bytesMax?: number
  /** How long a flush may wait for a reader. */
  flushMs?: number
  /**
   * Lines are written in pieces of whole lines up to this size, which a pipe takes whole or not at all: so lines of processes
   * that share it are never mixed. Unset: all at once.
   */
  pieceBytes?: number
  /** Blocks the process. */
  sleep?: (ms: number) => void
}

/** How often a descriptor that takes nothing is tried again. */
const retryMs = 100
/** The same interval during a flush. */
const flushRetryMs = 10

/**
 * Writes the lines of one turn of the event loop at once: one write per line took an eighth of a cheap request. A line waits
 * longer only if the descriptor takes no more: a pipe that no process reads, a full disk. Then lines wait, lines above the
 * limit are dropped, and once half of the space is free again a line says how many are missing.
 */
export function openLogOutput(parts: Parts): LogOutput {
  const { fd, unblock, describeDropped, bytesMax = 2 ** 20, flushMs = 1_000, sleep = block } = parts
  const { pieceBytes = Number.POSITIVE_INFINITY } = parts
  let lines = ''
  let lineBytes = 0
  /** Bytes that the descriptor did not take. */
  let rest = Buffer.alloc(0)
  let dropped = 0
  let described = 0
  let isDropping = false
  let retry: NodeJS.Timeout | undefined
  let isScheduled = false
  /** The time left for flushes. A flush in vain uses it up, so that no second one waits; a successful write restores it. */
  let flushMsLeft = flushMs

  const held = () => rest.length + lineBytes
  const add = (line: string, bytes: number) => {
    lines += line
    lineBytes += bytes
  }
  /** @returns the code of the error if the descriptor takes no more. */
  const writeHeld = (): unknown => {
    unblock?.()
    while (held() > 0) {
      if (rest.length === 0) {
        rest = Buffer.from(lines)
        lines = ''
        lineBytes = 0
      }
      try {
        rest = rest.subarray(writeSync(fd, rest, 0, pieceOf(rest, pieceBytes)))
      } catch (error) {
        return (error as NodeJS.ErrnoException).code
      }
    }
    flushMsLeft = flushMs
    return undefined
  }
  const writeOut = (): unknown => {
    isScheduled = false
    clearTimeout(retry)
    retry = undefined
    let code = writeHeld()
    if (isDropping && held() <= bytesMax / 2) {
      isDropping = false
      const line = describeDropped(dropped - described)
      described = dropped
      add(line, Buffer.byteLength(line))
      code ??= writeHeld()
    }
    if (held() > 0) retry = setTimeout(writeOut, retryMs).unref()
    return code
  }

  return {
    get dropped() {
      return dropped
    },
    write(line) {
      const bytes = Buffer.byteLength(line)
      if (!isDropping && held() + bytes > bytesMax) {
        writeOut()
        isDropping = held() + bytes > bytesMax
        if (isDropping) retry ??= setTimeout(writeOut, retryMs).unref()
      }
      if (isDropping) {
        dropped += 1
        return
      }
      add(line, bytes)
      if (isScheduled || retry !== undefined) return
      isScheduled = true
      setImmediate(writeOut)
    },
    flush(done) {
      // A reader may come back in time. A full disk seldom gets space, and a pipe without a reader never gets one.
      while (writeOut() === 'EAGAIN' && flushMsLeft > 0) {
        sleep(flushRetryMs)
        flushMsLeft -= flushRetryMs
      }
      done?.()
    },
  }
}

const lineEnd = 10

/** @returns the bytes of the next whole lines that are no more than so many, or of one longer line. */
function pieceOf(rest: Buffer, bytes: number): number {
  if (rest.length <= bytes) return rest.length
  const end = rest.lastIndexOf(lineEnd, bytes - 1) + 1
  return end > 0 ? end : rest.indexOf(lineEnd) + 1 || rest.length
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
