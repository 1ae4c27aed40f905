import { styleText } from 'node:util'

/** What a command prints for a program or a person to keep: its result. */
export function print(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** What a command says beside its result, so that a pipe or a file gets the result alone. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`)
}

export function warn(text: string): void {
  tell(`${paintError('yellow', 'Warning:')} ${text}`)
}

export const printJson = (value: unknown) => print(JSON.stringify(value, null, 2))

type Format = Parameters<typeof styleText>[0]

/** Colour for standard output, where that is a terminal; NO_COLOR and FORCE_COLOR are heeded. */
export const paint = (format: Format, text: string) => styleText(format, text, { stream: process.stdout })

/** The same for standard error. */
export const paintError = (format: Format, text: string) =>
  styleText(format, text, { stream: process.stderr })

/** Whether a person sits at both ends, so that a question makes sense. Questions go to standard error. */
export const canAsk = () => process.stdin.isTTY === true && process.stderr.isTTY === true

/** For a shell: a word that it takes as it is, whatever is in it. */
export const shellWord = (text: string) =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** A reader that went away (`keyrail serve | head`) must not end a service, nor show a stack trace. */
export function outliveReaders(): void {
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
}
