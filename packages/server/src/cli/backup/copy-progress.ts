import { progress } from '@clack/prompts'
import type { OnProgress, Progress } from '../../platform/db/dump/progress.ts'
import { interruptedCode } from '../failure.ts'
import { inform } from '../output.ts'

/** The text of each step, given its total. */
export type StepLabels = { [step in Progress['step']]: (total: string) => string }

interface Bar {
  show(progress: Progress): void
  end(whole: boolean): void
}

/**
 * Shows the progress of work: a bar per step at a terminal, one line per step elsewhere. Nothing goes to
 * standard output.
 */
export async function withCopyProgress<T>(
  labels: StepLabels,
  quiet: boolean,
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const open = quiet ? null : process.stderr.isTTY === true ? openBar : openLine
  let step: Progress['step'] | null = null
  let bar: Bar | null = null
  // The bar reads the keyboard, and on Ctrl-C it would exit with 0 as if all were done.
  const markInterrupted = () => {
    process.exitCode = interruptedCode
  }
  process.once('exit', markInterrupted)
  try {
    const result = await work(progress => {
      if (progress.step !== step) {
        step = progress.step
        bar?.end(true)
        bar = open?.(labels[step](progress.total.toLocaleString('en')), progress.total) ?? null
      }
      bar?.show(progress)
    })
    bar = ended(bar, true)
    return result
  } catch (error) {
    bar = ended(bar, false)
    throw error
  } finally {
    process.off('exit', markInterrupted)
  }
}

function ended(bar: Bar | null, whole: boolean): null {
  bar?.end(whole)
  return null
}

function openLine(label: string): Bar {
  inform(label)
  return { show() {}, end() {} }
}

function openBar(label: string, total: number): Bar {
  const bar = progress({ max: Math.max(total, 1), output: process.stderr })
  let shown = 0
  bar.start(label)
  return {
    show({ table, done }) {
      bar.advance(done - shown, table === null ? label : `${label}: ${table}`)
      shown = done
    },
    end: whole => (whole ? bar.stop(label) : bar.error(label)),
  }
}
