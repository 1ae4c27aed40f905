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

/** Why a key is paused. */
export interface DisableBody {
  /** 1 to 500 characters. */
  reason?: string
}

/** Why a tenant is suspended, and whether to wait for the nodes. */
export interface SuspendBody {
  /** 1 to 500 characters. */
  reason?: string
  /** Returns once the nodes of all projects have the suspension, and lists those that have not. */
  wait?: boolean
}

/** Why a key is revoked. */
export interface RevokeBody {
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
