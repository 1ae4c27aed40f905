/** A backup or restore is impossible, and a person can fix it: the message says what to do. */
export class DumpRefused extends Error {
  override name = 'DumpRefused'
}
