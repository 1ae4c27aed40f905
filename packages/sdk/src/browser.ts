import { secretInBrowser } from './runtime/refuse-browser.ts'

/** Bundlers for browsers load this in place of the package (export condition `browser`). */
throw new Error(secretInBrowser)
