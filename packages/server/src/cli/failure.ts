import { ConfigError } from '../config.ts'
import { UnknownKey } from '../platform/crypto/sealing.ts'
import { DumpRefused } from '../platform/db/dump/refused.ts'
import { EmbeddedRefused } from '../platform/db/embedded/refusal.ts'
import { Refusal } from '../platform/refusal.ts'

/** A command that cannot do its work. The message says why, and what to do. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
}

/** The person answered a question with Ctrl-C or Escape. */
export class Cancelled extends CommandFailed {
  override name = 'Cancelled'
}

/** The code with which a shell reports a command that Ctrl-C ended. */
export const interruptedCode = 130

const insufficientPrivilege = '42501'

/** The text to print for an error: its message and its causes, never a stack. */
export function explain(error: unknown): string {
  if (
    error instanceof CommandFailed ||
    error instanceof ConfigError ||
    error instanceof DumpRefused ||
    error instanceof EmbeddedRefused ||
    !(error instanceof Error)
  ) {
    return error instanceof Error ? error.message : String(error)
  }
  if (error instanceof UnknownKey) {
    return (
      `${error.message}\nAdd the missing key to SERVICE_ENCRYPTION_KEY, behind the one that seals.\n` +
      'If it is lost for good: keyrail encryption rotate --discard'
    )
  }
  if ((error as { code?: unknown }).code === insufficientPrivilege) {
    return withCause(
      `${error.message}.\nIf the tables have another owner, run this command with the owner's DATABASE_URL.`,
      error,
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
