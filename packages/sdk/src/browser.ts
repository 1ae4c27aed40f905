import { secretInBrowser } from './runtime/refuse-browser.ts'

/** What bundlers for browsers find in place of this package (the export condition `browser`). */
throw new Error(secretInBrowser)
