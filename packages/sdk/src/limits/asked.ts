import type { Valid } from '../verify/verdict.ts'

const asked = new WeakSet<Valid>()

/** Notes that a limiter was asked about this verdict, for the warning of a guard that asks none. */
export const noteAsked = (key: Valid): void => void asked.add(key)

export const wasAsked = (key: Valid): boolean => asked.has(key)
