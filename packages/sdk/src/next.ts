/** Protects route handlers of Next, in the file of the route. The same `withKey` as for every other host of the Fetch API. */
export { embedHandler } from './embed/web-handler.ts'
export type { KeyringSource, Protection } from './protect/opened.ts'
export { type KeyedHandler, type WithKeyOptions, withKey } from './protect/with-key.ts'
