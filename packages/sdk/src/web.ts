/** Protects what makes a `Response` of a `Request`, whatever serves it. */
export type { KeyringSource, Protection } from './protect/opened.ts'
export { type KeyedHandler, type WithKeyOptions, withKey } from './protect/with-key.ts'
