import {
  type ConnectionOptions,
  connectionNames,
  readConnectionParts,
  refuseUnknown,
} from '../http/connection-options.ts'
import { readInteger } from '../http/option-values.ts'

/** How a rotation replaces a key. */
export interface RotateBody {
  /** Hours for which the predecessor stays valid, 0 to 168; 24 by default. */
  overlapHours?: number
}

/** Whether a change is answered once the nodes have it. */
export interface Waiting {
  /** Waits for the nodes, and for the last batch of many keys; at most 15 s, as the operator has set it. */
  wait?: boolean
}

/** How a key is revoked or paused, or a tenant suspended. */
export interface StopOptions extends Waiting {
  /** 1 to 500 characters. */
  reason?: string
}

export interface AdminOptions extends ConnectionOptions {
  /** Time limit of one attempt in ms, 30,000 by default: a revocation that waits for the fleet takes up to 15 s. */
  timeoutMs?: number | undefined
  /** How often a failed call is repeated, if repeating it is safe. 0 to 10, 2 by default. */
  maxRetries?: number | undefined
}

const known: { readonly [Name in keyof Required<AdminOptions>]: true } = {
  ...connectionNames,
  timeoutMs: true,
  maxRetries: true,
}
export const adminOptionNames = Object.keys(known)

/** @throws TypeError naming a missing or wrong option */
export function readAdminOptions(options: AdminOptions) {
  refuseUnknown('createAdmin', options, known)
  return {
    connection: readConnectionParts(options),
    timeoutMs: readInteger('timeoutMs', options.timeoutMs ?? 30_000, 1, 600_000),
    maxRetries: readInteger('maxRetries', options.maxRetries ?? 2, 0, 10),
  }
}
