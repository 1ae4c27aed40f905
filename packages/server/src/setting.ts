/** What the table of settings says of one. */
export interface Setting {
  kind: 'text' | 'integer' | 'url' | 'path' | 'secret' | 'proxies'
  default: string | null
  min?: number
  max?: number
  /** A word that an integer may be instead. */
  orWord?: string
  /** The only allowed values of a text. */
  oneOf?: readonly string[]
  /** Allowed schemes of a URL; unset: the code that uses the URL checks it. */
  schemes?: readonly string[]
  /** Several URLs, separated by commas, are allowed. */
  isList?: true
  /** The URL contains a password. */
  holdsPassword?: true
  /** The text is the name or the address of a machine. */
  isHost?: true
  /** The path is that of a file which only the service should read. */
  holdsSecret?: true
  why: string
}
