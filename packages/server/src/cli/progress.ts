import { spinner } from '@clack/prompts'
import { interruptedCode } from './failure.ts'

/** Does work that takes a while. A terminal shows a spinner; elsewhere nothing is printed. */
export async function withProgress<T>(label: string, work: () => Promise<T>): Promise<T> {
  if (process.stderr.isTTY !== true) return await work()
  const moving = spinner({ output: process.stderr })
  // The spinner reads the keyboard, and on Ctrl-C it would exit with 0 as if all were done.
  const markInterrupted = () => {
    process.exitCode = interruptedCode
  }
  process.once('exit', markInterrupted)
  moving.start(label)
  try {
    const result = await work()
    moving.stop(label)
    return result
  } catch (error) {
    moving.error(label)
    throw error
  } finally {
    process.off('exit', markInterrupted)
  }
}
