/** The embedded Postgres cannot be used, and the person can do something about it: the message says what. */
export class EmbeddedRefused extends Error {
  override name = 'EmbeddedRefused'
}
