import { styleText } from 'node:util'

/** Prints the result of a command, for a program or a person to keep. */
export function print(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** Prints everything but the result to standard error, so that a pipe or a file gets only the result. */
export function inform(text: string): void {
  process.stderr.write(`${text}\n`)
}

export function warn(text: string): void {
  inform(`${paintError('yellow', 'Warning:')} ${text}`)
}

export const printJson = (value: unknown) => print(JSON.stringify(value, null, 2))

type Format = Parameters<typeof styleText>[0]

/** Colours standard output if it is a terminal; respects NO_COLOR and FORCE_COLOR. */
export const paint = (format: Format, text: string) => styleText(format, text, { stream: process.stdout })

/** The same for standard error. */
export const paintError = (format: Format, text: string) =>
  styleText(format, text, { stream: process.stderr })

/** Whether a person is at both ends, so that a question makes sense. Questions go to standard error. */
export const canAsk = () => process.stdin.isTTY === true && process.stderr.isTTY === true

/** Quotes a word for a shell. */
export const shellWord = (text: string) =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/**
 * A reader that exits (`keyrail serve | head`) must not end a service or cause a stack trace. A result that could not be
 * written, as on a full disk, must not look like success: it may have been a credential that is shown once.
 */
export function outliveReaders(): void {
  let isTold = false
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || isTold) return
    isTold = true
    process.exitCode = 1
    inform(
      `${paintError('red', 'Error:')} Standard output could not be written (${code}); what is there is incomplete.`,
    )
  })
  process.stderr.on('error', () => {})
}
