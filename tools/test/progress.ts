import { type FileResult, lastLines } from './run-file.ts'
import { secondsOf, type Times } from './times.ts'

export interface Progress {
  /** @param failed whether the result counts against the run */
  ended(result: FileResult, look: 'first' | 'second', failed: boolean): void
  /** Ends the moving line. */
  close(): void
}

export interface ProgressOptions {
  readonly files: readonly string[]
  readonly times: Times
  readonly print: (text: string) => void
  /** Whether the output is a terminal, whose last line can be written again. */
  readonly terminal: boolean
}

/** A line for each file; in a terminal one moving line, and another line only for each failure. */
export function makeProgress({ files, times, print, terminal }: ProgressOptions): Progress {
  const began = performance.now()
  const all = files.reduce((sum, file) => sum + secondsOf(file, times), 0)
  let [done, doneSeconds, failures] = [0, 0, 0]
  const moving = () => {
    const passedMs = performance.now() - began
    const leftS = doneSeconds === 0 ? 0 : (passedMs * (all - doneSeconds)) / doneSeconds / 1_000
    return `${done} of ${files.length} files, ${failures} failed, about ${Math.max(0, Math.ceil(leftS / 60))} min left`
  }
  return {
    ended(result, look, failed) {
      if (look === 'first') {
        done += 1
        doneSeconds += secondsOf(result.file, times)
        if (failed) failures += 1
      } else if (!failed) failures -= 1
      if (terminal) print('\r\u001b[2K')
      if (failed || !terminal) print(`${lineOf(result, look, failed)}\n`)
      if (failed) print(`${lastLines(result).trimEnd()}\n${faultsOf(result)}`)
      if (terminal) print(moving())
    },
    close() {
      if (terminal && done > 0) print('\n')
    },
  }
}

function lineOf({ file, passed, failed, seconds }: FileResult, look: string, bad: boolean): string {
  const counts = `${passed.length} passed${failed.length > 0 ? `, ${failed.length} failed` : ''}`
  return `${bad ? 'FAILED' : 'ok'}  ${file}  ${counts}, ${seconds.toFixed(1)} s${look === 'second' ? ', run again' : ''}`
}

const faultsOf = ({ file, failed, faults }: FileResult): string =>
  [...failed.map(name => `"${name}"`), ...faults].map(text => `FAILED  ${file}: ${text}\n`).join('')
