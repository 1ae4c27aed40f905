import { isCancel, select, text } from '@clack/prompts'
import { Cancelled, CommandFailed } from './failure.ts'
import { canAsk } from './output.ts'

/** Refuses a command with missing flags when there is no terminal to ask at, and names the flags. */
export function requireFlags(given: Record<string, unknown>): void {
  const missing = Object.keys(given).filter(flag => given[flag] === undefined)
  if (missing.length > 0 && !canAsk()) throw new CommandFailed(`Missing: ${missing.join(', ')}`)
}

/** @param fault what is wrong with an answer, if anything. */
export async function askText(
  message: string,
  fault: (answer: string) => string | undefined,
): Promise<string> {
  const answer = await text({ message, validate: value => fault(value ?? ''), output: process.stderr })
  return isCancel(answer) ? cancel() : answer
}

export async function askChoice<T extends string>(message: string, choices: readonly T[]): Promise<T> {
  const options = choices.map(value => ({ value: value as string, label: value as string }))
  const answer = await select<string>({ message, options, output: process.stderr })
  return isCancel(answer) ? cancel() : (answer as T)
}

function cancel(): never {
  throw new Cancelled('Nothing was done.')
}
