const meta = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')

/** The nonce that the service wrote into this answer of `index.html`. Every `<style>` of the page carries it. */
export const styleNonce = (): string => meta?.content ?? ''

// Where the lock on scrolling behind a dialog looks for it.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() })
