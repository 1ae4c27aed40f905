import { ConfigError } from '../config.ts'
import { UnknownKey } from '../platform/crypto/sealing.ts'
import { EmbeddedRefused } from '../platform/db/embedded/refusal.ts'
import { Refusal } from '../platform/refusal.ts'

/** A command that cannot do what was asked; the message tells a person why, and what to do. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
}

/** A question that the person answered with Ctrl-C or Escape. */
export class Cancelled extends CommandFailed {
  override name = 'Cancelled'
}

/** As a shell reports a command that Ctrl-C ended. */
export const interruptedCode = 130

/** What to print of an error: its message and its causes, never a stack. */
export function explain(error: unknown): string {
  if (
    error instanceof CommandFailed ||
    error instanceof ConfigError ||
    error instanceof EmbeddedRefused ||
    !(error instanceof Error)
  ) {
    return error instanceof Error ? error.message : String(error)
  }
  if (error instanceof UnknownKey) {
    return (
      `${error.message}\nGive the key that is missing by SERVICE_ENCRYPTION_KEY, behind the one that seals.\n` +
      'If it is lost for good: keyrail encryption rotate --discard'
    )
  }
  if (error instanceof Refusal && error.code === 'unavailable') {
    return withCause('The database did not answer in time.', error)
  }
  return withCause(error.message || String((error as { code?: unknown }).code ?? error.name), error)
}

function withCause(message: string, { cause }: Error): string {
  return cause === undefined ? message : `${message}\n  because: ${explain(cause)}`
}

export const exitCodeOf = (error: unknown) => (error instanceof Cancelled ? interruptedCode : 1)
