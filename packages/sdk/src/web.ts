/** Protects handlers that turn a `Request` into a `Response`, on any host. */
export { embedHandler } from './embed/web-handler.ts'
export type { KeyringSource, Protection } from './protect/opened.ts'
export { type KeyedHandler, type WithKeyOptions, withKey } from './protect/with-key.ts'
