/** A backup or restore that cannot be, and that a person can do something about: the message says what. */
export class DumpRefused extends Error {
  override name = 'DumpRefused'
}
