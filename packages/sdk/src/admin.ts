/** The admin client: manages a workspace. */

export { type Admin, createAdmin } from './admin/create.ts'
export type { KeyCalls } from './admin/key-calls.ts'
export type { Listing, Page } from './admin/list.ts'
export type { AdminOptions, RotateBody, StopOptions, Waiting } from './admin/options.ts'
export type { CallOptions, KeyedOptions } from './admin/request.ts'
export type * from './admin/types.ts'
export type { SecretKeySource } from './http/secret-key.ts'
export { type FieldFault, KeyrailError } from './runtime/errors.ts'
