/** Who sent a request, and from where. */
export interface Sender {
  /** The kind of credential. */
  readonly kind: string
  /** As in the principal. */
  readonly id: string | null
  /** The address before the trusted proxies; empty for a connection without one. */
  readonly ip: string
}
