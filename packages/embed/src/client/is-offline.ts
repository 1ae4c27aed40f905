/** Whether the browser has no network for sure. The machine itself may still answer. */
export const isOffline = (): boolean => globalThis.navigator?.onLine === false
